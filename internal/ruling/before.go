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

// Before has the lock files that a change is compared with. A nil Before is one that nobody knows:
// then nothing counts as changed.
type Before struct {
	files   fs.FS
	entries map[string]versions // by the path of the lock file
}

// versions are the entries of a lock file.
type versions map[provider.Addr]provider.Version

// ReadBefore reads the lock files of a file tree. One that is not valid has no entries: what a
// change has in its place is its own.
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

// before are the entries that the lock file of a root module had, and its directory: those of
// the same path, or of a file that the change removes and that has the same entries, which was
// moved.
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

// has reports whether the file at a place is as it was on the base. Of one in a module package
// that is not known.
func (b *Before) has(m Examined, at problem.Place) bool {
	if at.Package != "" {
		return false
	}
	now, err := fs.ReadFile(m.Files, at.Path)
	before, none := fs.ReadFile(b.files, at.Path)
	return err == nil && none == nil && bytes.Equal(now, before)
}

// version is the version of an entry on the base; zero if it had none. The entry of a provider
// of OpenTofu's registry begins at that of its twin on Terraform's, as OpenTofu has it
// [opentofu 1.12 internal/depsfile/locks.go].
func (v versions) version(tool provider.ToolName, addr provider.Addr) provider.Version {
	at, ok := v[addr]
	if !ok && tool == provider.OpenTofu && addr.Host == provider.OpenTofu.DefaultHost() {
		twin, _ := addr.Twin()
		return v[twin]
	}
	return at
}
