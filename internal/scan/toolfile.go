package scan

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/versionfile"
)

// versionPins are the releases in the version files of a directory and those above it. For
// each tool the nearest file with its name counts, even if it names no exact release.
type versionPins struct {
	nearest  provider.ToolName                      // the tool of the nearest version file
	pins     map[provider.ToolName]*versionfile.Pin // Terragrunt has the empty name
	problems []problem.Problem                      // files that could not be read
	linked   bool                                   // a version file of the directory is a link
}

// toolFiles finds out by files which tool is run in a directory.
type toolFiles struct {
	tree   *tfconfig.Tree
	opts   *Options
	pinned memo.Once[string, versionPins]
}

// pins reads the version files of a directory and of those above it.
func (t *toolFiles) pins(dir string) versionPins {
	return t.pinned.Get(dir, func() versionPins {
		found := versionPins{pins: map[provider.ToolName]*versionfile.Pin{}}
		for _, name := range append(versionfile.Paths(), versionfile.Terragrunt) {
			found.linked = found.linked || t.tree.Linked(path.Join(dir, name))
			pins, err := t.read(path.Join(dir, name))
			if err != nil {
				found.problems = append(found.problems, problem.Problem{
					Severity: problem.SeverityWarning, Code: problem.CodeUnreadable, Place: problem.Place{Path: path.Join(dir, name)},
					Message: fmt.Sprintf("the version file could not be read: %v", file.Cause(err)),
				})
			}
			for _, pin := range pins {
				found.nearest = cmp.Or(found.nearest, pin.Tool)
				if found.pins[pin.Tool] == nil {
					found.pins[pin.Tool] = &pin
				}
			}
		}
		if dir == "." {
			return found
		}
		above := t.pins(path.Dir(dir))
		found.nearest = cmp.Or(found.nearest, above.nearest)
		for tool, pin := range above.pins {
			if found.pins[tool] == nil {
				found.pins[tool] = pin
			}
		}
		found.problems = slices.Concat(found.problems, above.problems)
		return found
	})
}

// read reads a version file. A missing file has no pins. A file that allows no known
// release pins none.
func (t *toolFiles) read(name string) ([]versionfile.Pin, error) {
	src, err := t.tree.Read(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	pins, err := versionfile.Parse(name, src)
	for i, pin := range pins {
		if pin.Tool != "" && choose(pin.Tool, nil, &pin).none {
			pins[i] = pin.Pinless()
		}
	}
	return pins, err
}

// tool returns the tool of a directory. It looks at a lock file of OpenTofu's, at files
// that only OpenTofu reads, and at the nearest version file. A lock file of Terraform
// proves little, since OpenTofu uses those, too [opentofu 1.12 internal/depsfile/locks.go].
// Without evidence the tool is guessed.
func (t *toolFiles) tool(at tfconfig.Directory, lock *lockfile.File) (name provider.ToolName, guessed bool) {
	nearest := t.pins(at.Path).nearest
	switch {
	case t.opts.Tool != "":
		return t.opts.Tool, false
	case lock != nil && ofOpenTofu(lock):
		return provider.OpenTofu, false
	case at.ForOpenTofu():
		return provider.OpenTofu, false
	case nearest != "":
		return nearest, false
	}
	return provider.Terraform, true
}

// release returns the release of a tool in a directory. It is exact if a setting or a
// version file names it. Otherwise it is the newest known release that the version file
// allows.
func (t *toolFiles) release(at tfconfig.Directory, name provider.ToolName) (tool provider.Tool, pin *versionfile.Pin, exact bool) {
	if !t.opts.ToolVersion.IsZero() {
		return provider.Tool{Name: name, Version: t.opts.ToolVersion}, nil, true
	}
	pin = t.pins(at.Path).pins[name]
	if pin != nil && pin.Kind == versionfile.Exact {
		return provider.Tool{Name: name, Version: pin.Exact}, pin, true
	}
	return provider.Tool{Name: name, Version: choose(name, nil, pin).version}, pin, false
}
