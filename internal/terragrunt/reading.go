package terragrunt

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

// unitReading is the evaluation of one unit. Its files share the bounds.
type unitReading struct {
	tree    *fileReader
	unit    string // its directory
	bound   staticeval.Bound
	holes   staticeval.Holes
	outputs *staticeval.Unknown // for values from dependencies
	values  *staticeval.Unknown // for values from a stack that are not committed
	configs int
	// assumed are the assumptions of the values that were used. wants says that one of these
	// needs values that only a stack gives.
	assumed map[string]bool
	wants   bool
	// template says that the unit depends on values that only a stack has.
	template bool
	// set has the values from outside; nil: none. asked are the names that were asked for.
	set   *EnvironmentSet
	asked askedNames
	// looked are the paths that were read or looked for, also those that do not exist.
	looked  map[string]bool
	objects map[string]cty.Value // values of read_terragrunt_config, by the path of the file
}

// newReading starts the evaluation of the unit in a directory. set has the values from
// outside; nil: none.
func newReading(r *fileReader, unit string, set *EnvironmentSet) *unitReading {
	values := &staticeval.Unknown{Reason: "the values of the stack are not in the repository"}
	if r.generatedAt(unit) != nil {
		values = &staticeval.Unknown{Refused: true, Reason: "the stack gives it no values"}
	}
	return &unitReading{
		tree: r, unit: unit, set: set,
		holes:   staticeval.Holes{Through: through},
		outputs: &staticeval.Unknown{Reason: "it depends on outputs of another unit"},
		values:  values,
		looked:  map[string]bool{}, objects: map[string]cty.Value{}, assumed: map[string]bool{},
		asked: askedNames{map[string]bool{}, map[string]bool{}},
	}
}

// stat is stat of the file tree. It also notes what the unit depends on.
func (r *unitReading) stat(name string) (string, fs.FileInfo, error) {
	real, info, err := r.tree.Follow(name)
	r.looked[path.Clean(name)] = true
	if err == nil {
		r.looked[real] = true
	}
	return real, info, err
}

func (r *unitReading) isDir(name string) bool {
	_, info, err := r.stat(name)
	return err == nil && info.IsDir()
}

func (r *unitReading) isFile(name string) bool {
	_, info, err := r.stat(name)
	return err == nil && !info.IsDir()
}

// config is the path of the configuration in a directory, or empty.
func (r *unitReading) config(dir string) string { return unitConfig(dir, r.isFile) }

// parse reads a configuration file.
func (r *unitReading) parse(name string) (*configFile, *staticeval.Unknown) {
	_, _, _ = r.stat(name)
	return r.tree.parse(name)
}

// through are the functions that keep holes in texts.
var through = []string{
	"chomp", "concat", "format", "indent", "join", "jsonencode", "lookup", "merge", "read_terragrunt_config",
	"templatefile", "tostring", "trimspace", "values",
}

// open reads a configuration file.
func (r *unitReading) open(name, dir string, parent *include) (*evaluator, *staticeval.Unknown) {
	r.configs++
	if r.configs > maxConfigs {
		return nil, &staticeval.Unknown{Reason: fmt.Sprintf("it reads more than %d configuration files", maxConfigs)}
	}
	f, why := r.parse(name)
	if why != nil {
		return nil, why
	}
	e := &evaluator{reading: r, file: f, dir: dir, parent: parent}
	e.table = functionTable{r, e}.functions()
	e.scope = &staticeval.Scope{Functions: e.table, Refer: e.refer, Holes: &r.holes, Bound: &r.bound}
	return e, nil
}

// declared is a block, with the file whose context evaluates it.
type declared struct {
	kind  string
	block configBlock
	file  *evaluator
	at    *configFile // the file with the block
}

func (d declared) place() problem.Place { return d.at.at(d.block.line) }

// autoinclude opens the file that a stack writes next to a unit: a block of the stack file,
// evaluated in that file's context [case stack-autoinclude-dependency].
func (r *unitReading) autoinclude(d *declared) (*evaluator, *staticeval.Unknown) {
	context, why := r.open(d.file.file.name, d.file.dir, nil)
	if why != nil {
		return nil, why
	}
	own := newConfigFile(context.file.name, d.at.place, d.block.body.Body)
	own.locals = context.file.locals
	context.file, context.named, context.written = own, d.file.named, true
	return context, nil
}

// use notes what a used value assumes, and whether it needs values that only a stack gives.
func (r *unitReading) use(v cty.Value) {
	if v == cty.NilVal {
		return
	}
	_, marks := v.UnmarkDeep()
	for mark := range marks {
		switch m := mark.(type) {
		case assumption:
			r.assumed[m.text] = true
		case *staticeval.Unknown:
			r.wants = r.wants || m == r.values
		}
	}
}

// text returns the text of a known value, or a fallback for null.
func (r *unitReading) text(v cty.Value, fallback string) (string, *staticeval.Unknown) {
	v = r.holes.Whole(v)
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
func (r *unitReading) strings(v cty.Value) ([]string, *staticeval.Unknown) {
	v = r.holes.Whole(v)
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
