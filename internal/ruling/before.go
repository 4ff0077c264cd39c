package ruling

import (
	"bytes"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Before has the lock files that a change is compared with. A nil Before means that they
// are unknown. Then nothing counts as changed.
type Before struct {
	files   fs.FS
	entries map[string]versions // by the path of the lock file
}

// versions are the entries of a lock file.
type versions map[provider.Addr]provider.Version

// ReadBefore reads the lock files of a file tree. An invalid one has no entries: all
// entries that replace it count as changed.
func ReadBefore(files fs.FS) (*Before, error) {
	contents, err := lockfile.Contents(files)
	b := &Before{files: files, entries: map[string]versions{}}
	for name, content := range contents {
		if parsed, _ := lockfile.Parse(content, name); parsed != nil {
			b.entries[name] = versionsOf(parsed.Locks)
		}
	}
	return b, err
}

func versionsOf(locks []lockfile.Lock) versions {
	all := versions{}
	for _, l := range locks {
		all[l.Addr] = l.Version
	}
	return all
}

// before returns the entries that the lock file of a root module had, and its directory
// then. They are those of the same path. If there is none, they are those of a lock file
// that was moved: one with the same entries that the change removes.
func (b *Before) before(m Examined) (had versions, dir string) {
	if same, ok := b.entries[path.Join(m.Root.Dir, lockfile.Name)]; ok {
		return same, m.Root.Dir
	}
	now := versionsOf(m.Root.Lock.Locks)
	for _, name := range slices.Sorted(maps.Keys(b.entries)) {
		_, gone := fs.Stat(m.Files, name)
		if gone != nil && maps.Equal(b.entries[name], now) {
			return now, path.Dir(name)
		}
	}
	return nil, m.Root.Dir
}

// has reports whether the file at a place is unchanged since the base. It is false in a
// module package, where that is not known.
func (b *Before) has(m Examined, at problem.Place) bool {
	if at.Package != "" {
		return false
	}
	now, err := fs.ReadFile(m.Files, at.Path)
	before, none := fs.ReadFile(b.files, at.Path)
	return err == nil && none == nil && bytes.Equal(now, before)
}

// version is the version of an entry on the base; zero if it had none. OpenTofu lets a new
// entry of its own registry start with the version of the same provider on Terraform's
// registry [opentofu 1.12 internal/depsfile/locks.go]. version does so, too.
func (v versions) version(tool provider.ToolName, addr provider.Addr) provider.Version {
	at, ok := v[addr]
	if !ok && tool == provider.OpenTofu && addr.Host == provider.OpenTofu.DefaultHost() {
		twin, _ := addr.Twin()
		return v[twin]
	}
	return at
}
