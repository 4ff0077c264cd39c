package problem

import (
	"encoding/json"
	"strings"
)

// Dirs are the directories of a problem that is reported once for all of them.
// The zero value has none.
type Dirs string

// DirsOf joins directories, in this order.
func DirsOf(dirs []string) Dirs { return Dirs(strings.Join(dirs, "\n")) }

// List returns the directories.
func (d Dirs) List() []string {
	if d == "" {
		return nil
	}
	return strings.Split(string(d), "\n")
}

// Named returns the directories by the names that people use.
func (d Dirs) Named(names Naming) Dirs {
	all := d.List()
	for i, dir := range all {
		all[i] = names.Of(dir)
	}
	return DirsOf(all)
}

// MarshalJSON implements json.Marshaler with a list.
func (d Dirs) MarshalJSON() ([]byte, error) { return json.Marshal(d.List()) }
