package units

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// Assembly is a unit with the files that init sees in it.
type Assembly struct {
	Unit Unit
	// Tree are the files that init sees. TreeDir is the directory in Tree in which init
	// runs. Tree is nil if the unit is not statically known.
	Tree    *tfconfig.Tree
	TreeDir string
	// Dirs are the directories of the file tree that these files come from.
	Dirs []string
	// Start is the lock file in the module's directory, if the unit has none. init begins
	// with it. It is nil if there is none.
	Start []byte
	// Locked has the fetched module, if a lock file of modules has it, or gets it.
	Locked scan.ModuleTree
	// Failed says why the module could not be fetched; nil if it was.
	Failed error
}

// Assembler makes the Assemblies of units. They share the files that were read or fetched.
type Assembler struct {
	tree   *Files
	source scan.Source
	// repository is the path of the file tree on this machine. It is empty if the tree is
	// not on disk, or if only the tree itself may be read.
	repository string

	opts scan.Options

	mu       sync.Mutex
	packages map[string]*Files // by ID

	decoded tfconfig.Decoded // modules that units share
}

// NewAssembler returns an assembler for the units of a file tree. Without a source, a unit
// whose module comes from elsewhere is not known. The options say where the file
// tree is on this machine, and what is absent from it.
func NewAssembler(r *Files, source scan.Source, opts scan.Options) *Assembler {
	return &Assembler{tree: r, source: source, repository: opts.Path, opts: opts, packages: map[string]*Files{}}
}

// Assemble makes the files that init sees in a unit, for a tool. It fetches the module if
// the file tree does not have it. lock is the lock file of modules beside the unit; nil if
// there is none.
func (a *Assembler) Assemble(ctx context.Context, u Unit, lock *modulelock.File, tool provider.Tool) Assembly {
	made := Assembly{Unit: u}
	if !u.Known() {
		return made
	}
	if s := u.Source; s.Local {
		made.Unit.AnyChange = made.Unit.AnyChange || s.in(u.Tree).withoutFile(path.Join(s.Package, s.Subdir))
	}
	w, dir, ok := a.module(ctx, &made, lock, tool)
	if !ok {
		return made
	}
	if !u.Source.own() {
		if n, err := w.find(path.Join(dir, lockfile.Name)); err == nil && n.layer != nil && !n.IsDir() {
			made.Start, _ = w.ReadFile(path.Join(dir, lockfile.Name))
		}
		w.layers = append(w.layers, layer{u.Tree, u.Dir, dir, &u.lists, nil})
	}
	var open []Generated
	for _, f := range u.Generated {
		made.write(w, dir, f, tool)
		if len(f.Ways) > 0 && string(w.written[path.Join(dir, f.Path)]) == f.Contents {
			open = append(open, f)
		}
	}
	made.goWays(a, w, dir, open, tool)
	if !configured(w, dir) && made.Unit.Known() {
		made.refuse(u.Source.Place, "the module has no configuration of Terraform or OpenTofu, and none is generated")
	}
	if made.Unit.Known() {
		made.TreeDir = dir
		made.Tree = a.treeOf(w, u.Dir, dir)
		made.Dirs = u.Tree.Sources(u.Dir)
		if s := u.Source; s.Local && s.places() == nil {
			made.Dirs = append(made.Dirs, s.in(u.Tree).Sources(path.Join(s.Package, dir))...)
		}
	}
	return made
}

// treeOf is the copy as a configuration tree. dir is the directory in which init runs.
func (a *Assembler) treeOf(w *workingCopy, unit, dir string) *tfconfig.Tree {
	return tfconfig.NewTree(w, func(name string) problem.Place { return w.shown(unit, dir, name) }).Sharing(&a.decoded, w.copied)
}

// refuse adds a problem for which the unit is an error.
func (made *Assembly) refuse(at problem.Place, reason string) {
	made.Hinder(at, staticeval.Unknown{Refused: true, Reason: reason})
}

// Hinder adds a reason why the unit is not known. Without a place it is about the whole unit.
func (made *Assembly) Hinder(at problem.Place, why staticeval.Unknown) {
	if at.Path == "" {
		at = made.Unit.Place
	}
	made.Unit.Problems = append(slices.Clip(made.Unit.Problems), Hindrance{why, at})
}

// module starts the copy with the module. It returns the directory in the copy in which
// init runs.
func (a *Assembler) module(ctx context.Context, made *Assembly, lock *modulelock.File, tool provider.Tool) (*workingCopy, string, bool) {
	u := made.Unit
	w := &workingCopy{written: map[string][]byte{}, removed: map[string]bool{}}
	switch {
	case u.Source.own():
		w.layers = []layer{{u.Tree, u.Dir, ".", &u.lists, nil}}
		return w, ".", true
	case u.Source.Local && u.Source.in(u.Tree).IsDir(u.Source.Package):
		w.layers = []layer{{u.Source.in(u.Tree), u.Source.Package, ".", &u.lists, u.Source.places()}}
		if n, err := w.find(u.Source.Subdir); err != nil || !n.IsDir() {
			made.refuse(u.Source.Place, "the directory of the module does not exist")
			return nil, "", false
		}
		return w, u.Source.Subdir, true
	case u.Source.Local && a.opts.Absent != nil && a.opts.Absent(u.Source.Package):
		made.Hinder(u.Source.Place, staticeval.Unknown{Refused: true, Reason: "the directory of the module is not in the sparse checkout", Hint: scan.CheckOut(u.Source.Package)})
		return nil, "", false
	case u.Source.Local && !u.Source.in(u.Tree).IsFile(u.Source.Package):
		made.refuse(u.Source.Place, "the directory of the module does not exist")
		return nil, "", false
	}
	return a.fetched(ctx, made, w, lock, tool)
}

// fetched starts the copy with a module that must be fetched.
func (a *Assembler) fetched(ctx context.Context, made *Assembly, w *workingCopy, lock *modulelock.File, tool provider.Tool) (*workingCopy, string, bool) {
	at := made.Unit.Source.Place
	call, why := made.Unit.Source.call(tool, a.repository)
	if why != nil {
		made.Hinder(at, *why)
		return nil, "", false
	}
	if a.source == nil {
		made.Hinder(at, staticeval.Unknown{Reason: "the module comes from outside of the repository"})
		return nil, "", false
	}
	of := scan.Root{Dir: made.Unit.Dir, ModuleLock: lock}
	p, err := scan.FetchSource(ctx, &of, a.source, &a.opts, call, tool, at)
	made.Locked = of.Made.Fetched
	if err != nil {
		d := problem.Of(err)
		made.Failed = err
		made.Hinder(at, staticeval.Unknown{Reason: "the module could not be fetched: " + d.Message, Hint: d.Hint})
		return nil, "", false
	}
	source := moduleaddr.ShownPackage(made.Unit.Source.Text)
	w.layers = []layer{{a.pkg(p), ".", ".", nil, func(name string) problem.Place {
		return problem.Place{Path: name, Package: source}
	}}}
	return w, path.Clean(p.Dir), true
}

// Origin fetches a source of a stack. It does not depend on the tool, since stacks have no
// modules from registries. why says why the origin is not known, and err why fetching failed.
func (a *Assembler) Origin(ctx context.Context, source Source) (from Origin, why *staticeval.Unknown, err error) {
	call, why := source.call(provider.Newest(provider.Terraform), a.repository)
	if why != nil {
		return from, why, nil
	}
	if a.source == nil {
		return from, &staticeval.Unknown{Reason: "it comes from outside of the repository"}, nil
	}
	p, err := a.source.Fetch(ctx, provider.Newest(provider.Terraform), call)
	if err != nil {
		d := problem.Of(err)
		return from, &staticeval.Unknown{Reason: "it could not be fetched: " + d.Message, Hint: d.Hint}, err
	}
	shown := moduleaddr.ShownPackage(source.Text)
	return Origin{
		Tree: a.pkg(p), Dir: path.Clean(p.Dir), top: ".",
		places: func(name string) problem.Place { return problem.Place{Path: name, Package: shown} },
	}, nil, nil
}

// pkg is the reader of a package. Units with the same package share it.
func (a *Assembler) pkg(p scan.Package) *Files {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.packages[p.ID]
	if !ok || p.ID == "" {
		known = NewFiles(p.FS)
		a.packages[p.ID] = known
	}
	return known
}

// write writes a generated file into the copy, or removes the file there.
func (made *Assembly) write(w *workingCopy, dir string, f Generated, tool provider.Tool) {
	at := f.Place
	name := path.Join(dir, f.Path)
	if !fs.ValidPath(name) || name == "." {
		made.Hinder(at, staticeval.Unknown{Reason: fmt.Sprintf("the generated file %q is written outside of the working directory", PlainLabel(f.Label))})
		return
	}
	n, err := w.find(name)
	there, signed := err == nil && !n.IsDir(), false
	if there {
		src, err := w.ReadFile(name)
		signed = err == nil && generatedBy(src)
	}
	switch {
	case f.Disabled && (!there || f.IfDisabled == "skip"):
	case f.Disabled && (f.IfDisabled == "remove" || signed):
		delete(w.written, name)
		w.removed[name] = true
	case f.Disabled, there && f.IfExists == "overwrite_terragrunt" && !signed, there && f.IfExists == "error":
		made.refuse(at, fmt.Sprintf("the file of %q exists already", PlainLabel(f.Label)))
	case there && f.IfExists == "skip":
	case misplaced(name, f.Contents, tool):
		why := staticeval.Unknown{Reason: "a part of it that is not known may change what is required"}
		why.Reason = fmt.Sprintf("the contents of the generated file %q are not statically known: %s", PlainLabel(f.Label), why.Reason)
		made.Hinder(at, why)
	default:
		delete(w.removed, name)
		w.written[name] = []byte(f.Contents)
	}
}

// configured reports whether a directory of the copy has configuration.
func configured(w *workingCopy, dir string) bool {
	entries, err := w.ReadDir(dir)
	return err != nil || tfconfig.Configured(entries)
}
