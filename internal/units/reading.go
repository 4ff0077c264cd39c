package units

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"

	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/staticeval"
)

// maxConfigs bounds the files that one unit reads as configuration. Each file may read
// others, and more than once.
const maxConfigs = 1000

// Reading is the evaluation of one unit. Its files share the bounds.
type Reading struct {
	Tree    *Files
	unit    string // its directory
	Bound   staticeval.Bound
	Holes   staticeval.Holes
	outputs *staticeval.Unknown // for values from dependencies
	values  *staticeval.Unknown // for values from a stack that are not committed
	configs int
	// Assumed are the assumptions of the values that were used. Wants says that one of these
	// needs values that only a stack gives.
	Assumed map[string]bool
	Wants   bool
	// template says that the unit depends on values that only a stack has.
	template bool
	// set has the values from outside; nil: none. Asked are the names that were asked for.
	set   *EnvironmentSet
	Asked AskedNames
	// Looked are the paths that were read or looked for, also those that do not exist.
	Looked  map[string]bool
	objects map[string]cty.Value // values of read_terragrunt_config, by the path of the file
}

// NewReading starts the evaluation of the unit in a directory. set has the values from
// outside; nil: none.
func NewReading(r *Files, unit string, set *EnvironmentSet) *Reading {
	values := &staticeval.Unknown{Reason: "the values of the stack are not in the repository"}
	if r.GeneratedAt(unit) != nil {
		values = &staticeval.Unknown{Refused: true, Reason: "the stack gives it no values"}
	}
	return &Reading{
		Tree: r, unit: unit, set: set,
		Holes:   staticeval.Holes{Through: through},
		outputs: &staticeval.Unknown{Reason: "it depends on outputs of another unit"},
		values:  values,
		Looked:  map[string]bool{}, objects: map[string]cty.Value{}, Assumed: map[string]bool{},
		Asked: AskedNames{map[string]bool{}, map[string]bool{}},
	}
}

// stat is stat of the file tree. It also notes what the unit depends on.
func (r *Reading) stat(name string) (string, fs.FileInfo, error) {
	real, info, err := r.Tree.Follow(name)
	r.Looked[path.Clean(name)] = true
	if err == nil {
		r.Looked[real] = true
	}
	return real, info, err
}

func (r *Reading) isDir(name string) bool {
	_, info, err := r.stat(name)
	return err == nil && info.IsDir()
}

// IsFile is Files.IsFile. It also notes what the unit depends on.
func (r *Reading) IsFile(name string) bool {
	_, info, err := r.stat(name)
	return err == nil && !info.IsDir()
}

// config is the path of the configuration in a directory, or empty.
func (r *Reading) config(dir string) string { return UnitConfig(dir, r.IsFile) }

// Parse is Files.parse. It also notes what the unit depends on.
func (r *Reading) Parse(name string) (*ConfigFile, *staticeval.Unknown) {
	_, _, _ = r.stat(name)
	return r.Tree.parse(name)
}

// through are the functions that keep holes in texts.
var through = []string{
	"chomp", "concat", "format", "indent", "join", "jsonencode", "lookup", "merge", "read_terragrunt_config",
	"templatefile", "tostring", "trimspace", "values",
}

// Open reads a configuration file and prepares its evaluation. dir is the directory that its
// relative paths start from, and parent the block that includes it, or nil.
func (r *Reading) Open(name, dir string, parent *include) (*Evaluator, *staticeval.Unknown) {
	r.configs++
	if r.configs > maxConfigs {
		return nil, &staticeval.Unknown{Reason: fmt.Sprintf("it reads more than %d configuration files", maxConfigs)}
	}
	f, why := r.Parse(name)
	if why != nil {
		return nil, why
	}
	e := &Evaluator{reading: r, File: f, dir: dir, parent: parent}
	e.table = functionTable{r, e}.functions()
	e.scope = &staticeval.Scope{Functions: e.table, Refer: e.refer, Holes: &r.Holes, Bound: &r.Bound}
	return e, nil
}

// Declared is a block of a stack file. File evaluates its expressions. At is the file that
// has the block, which may be one that File includes.
type Declared struct {
	Kind  string
	Block Block
	File  *Evaluator
	At    *ConfigFile
}

// Place is the line on which the block begins.
func (d Declared) Place() problem.Place { return d.At.At(d.Block.Line) }

// autoinclude opens the file that a stack writes next to a unit: a block of the stack file,
// evaluated in that file's context [case stack-autoinclude-dependency].
func (r *Reading) autoinclude(d *Declared) (*Evaluator, *staticeval.Unknown) {
	context, why := r.Open(d.File.File.Name, d.File.dir, nil)
	if why != nil {
		return nil, why
	}
	own := newConfigFile(context.File.Name, d.At.Place, d.Block.Body.Body)
	own.locals = context.File.locals
	context.File, context.Named, context.written = own, d.File.Named, true
	return context, nil
}

// Use notes what a used value assumes, and whether it needs values that only a stack gives.
func (r *Reading) Use(v cty.Value) {
	if v == cty.NilVal {
		return
	}
	_, marks := v.UnmarkDeep()
	for mark := range marks {
		switch m := mark.(type) {
		case assumption:
			r.Assumed[m.text] = true
		case *staticeval.Unknown:
			r.Wants = r.Wants || m == r.values
		}
	}
}

// Text returns the text of a known value, or a fallback for null.
func (r *Reading) Text(v cty.Value, fallback string) (string, *staticeval.Unknown) {
	v = r.Holes.Whole(v)
	if why := cmp.Or(staticeval.ReasonFor(v)); why != nil {
		return "", why
	}
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown():
		return "", &staticeval.Unknown{Reason: "its value is not known here"}
	case v.IsNull():
		return fallback, nil
	case v.Type() == cty.Bool && v.True():
		return "true", nil
	case v.Type() == cty.Bool:
		return "false", nil
	case v.Type() != cty.String:
		return "", &staticeval.Unknown{Refused: true, Reason: "it must be a string"}
	}
	return v.AsString(), nil
}

// strings are the texts of a list.
func (r *Reading) strings(v cty.Value) ([]string, *staticeval.Unknown) {
	v = r.Holes.Whole(v)
	if why := staticeval.ReasonFor(v); why != nil {
		return nil, why
	}
	v, _ = v.UnmarkDeep()
	switch {
	case !v.IsWhollyKnown():
		return nil, &staticeval.Unknown{Reason: "its value is not known here"}
	case v.IsNull():
		return nil, nil
	case !v.CanIterateElements():
		return nil, &staticeval.Unknown{Refused: true, Reason: "it must be a list of strings"}
	}
	var list []string
	for _, element := range v.AsValueSlice() {
		if element.IsNull() || element.Type() != cty.String {
			return nil, &staticeval.Unknown{Refused: true, Reason: "it must be a list of strings"}
		}
		list = append(list, element.AsString())
	}
	return list, nil
}
