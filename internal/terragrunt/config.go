package terragrunt

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/staticeval"
)

// repositoryTop stands for the absolute path of the repository, which differs from machine to
// machine. What is made of it other than a path into the repository is not known.
const repositoryTop = "/relock-top-of-the-repository"

// The strategies by which included files are merged.
const (
	noMerge = "no_merge"
	shallow = "shallow"
	deep    = "deep"
)

// maxConfigs bounds how many files one unit reads as configuration: each may read
// others twice.
const maxConfigs = 1000

// unitReading is the evaluation of one unit, whose files share its bounds.
type unitReading struct {
	*fileReader
	unit    string // its directory
	bound   staticeval.Bound
	holes   staticeval.Holes
	outputs *staticeval.Unknown // what dependencies give
	values  *staticeval.Unknown // what a stack gives, where that is not committed
	configs int
	// template says that the unit depends on values that only a stack gives.
	template bool
	// files are those that were read or looked for, there or not.
	files map[string]bool
	read  map[string]cty.Value
}

// newReading begins the evaluation of the unit of a directory.
func newReading(r *fileReader, unit string) *unitReading {
	return &unitReading{
		fileReader: r, unit: unit,
		holes:   staticeval.Holes{Through: through},
		outputs: &staticeval.Unknown{Reason: "it depends on outputs of another unit"},
		values:  &staticeval.Unknown{Reason: "the values of the stack are not in the repository"},
		files:   map[string]bool{}, read: map[string]cty.Value{},
	}
}

// stat is that of the file tree, and notes what the unit depends on.
func (r *unitReading) stat(name string) (string, fs.FileInfo, error) {
	real, info, err := r.fileReader.stat(name)
	r.files[path.Clean(name)] = true
	if err == nil {
		r.files[real] = true
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

// config is the path of the configuration in a directory; empty if there is none.
func (r *unitReading) config(dir string) string { return unitConfig(dir, r.isFile) }

// parse reads a configuration file.
func (r *unitReading) parse(name string) (*configSource, *staticeval.Unknown) {
	_, _, _ = r.stat(name)
	return r.fileReader.parse(name)
}

// through are the functions that carry on texts with holes as they are.
var through = []string{
	"chomp", "concat", "format", "indent", "join", "jsonencode", "lookup", "merge", "read_terragrunt_config",
	"templatefile", "tostring", "trimspace", "values",
}

// evaluated is a configuration file as it is evaluated for a unit.
type evaluated struct {
	*unitReading
	*configSource
	dir string // what get_terragrunt_dir gives: of the unit, or of a file that is read
	// parent is the block that includes the file, in a file of the directory dir; nil
	// if none does.
	parent *include
	scope  *staticeval.Scope
	table  []staticeval.Function // that the file can call
	below  []*include
	why    *staticeval.Unknown // an include that cannot be read
	whose  problem.Place
	asked  bool // the includes are known
}

// include is a block that includes a file.
type include struct {
	label    string
	path     string // of the file
	strategy string
	expose   bool
	config   *evaluated
	line     int
	assumed  []cty.Value // what it is said by
}

// open reads a configuration file.
func (r *unitReading) open(name, dir string, parent *include) (*evaluated, *staticeval.Unknown) {
	r.configs++
	if r.configs > maxConfigs {
		return nil, &staticeval.Unknown{Reason: fmt.Sprintf("it reads more than %d configuration files", maxConfigs)}
	}
	f, why := r.parse(name)
	if why != nil {
		return nil, why
	}
	c := &evaluated{unitReading: r, configSource: f, dir: dir, parent: parent}
	c.table = functionTable{c}.functions()
	c.scope = &staticeval.Scope{Functions: c.table, Refer: c.refer, Holes: &r.holes, Bound: &r.bound}
	return c, nil
}

// value evaluates an expression. What is not known is marked with the reason.
func (c *evaluated) value(expr hcl.Expression) (cty.Value, *staticeval.Unknown) {
	v, why := c.scope.Value(expr)
	if why != nil && staticeval.ReasonFor(v) == nil {
		v = cty.DynamicVal.Mark(why)
	}
	return v, why
}

// refer evaluates a reference.
func (c *evaluated) refer(root, name string) (cty.Value, *staticeval.Unknown) {
	switch {
	case root == "local" && name != "":
		if attr := c.locals[name]; attr != nil {
			return c.value(attr.Expr)
		}
		return notAllowed("local.%s is not declared", name)
	case root == "local":
		return c.object(c.locals), nil
	case root == "include":
		return c.exposed(name)
	case root == "feature" && name != "":
		return c.feature(name)
	case root == "values":
		return c.stackValue(name)
	case root == "dependency":
		return notStatic(c.outputs)
	}
	return notAllowed("%s is not known in a configuration of Terragrunt", root)
}

func notAllowed(format string, args ...any) (cty.Value, *staticeval.Unknown) {
	return notStatic(&staticeval.Unknown{Refused: true, Reason: fmt.Sprintf(format, args...)})
}

// notStatic is what has no value, for a reason.
func notStatic(why *staticeval.Unknown) (cty.Value, *staticeval.Unknown) {
	return cty.DynamicVal.Mark(why), why
}

// object evaluates attributes, each by itself: that one has no value leaves the
// others as they are.
func (c *evaluated) object(attrs map[string]*hcl.Attribute) cty.Value {
	values := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		values[name], _ = c.value(attrs[name].Expr)
	}
	return cty.ObjectVal(values)
}

// exposed is what include.NAME stands for, or a part of it where the block has no
// label.
func (c *evaluated) exposed(name string) (cty.Value, *staticeval.Unknown) {
	includes, why, _ := c.includes()
	if why != nil {
		return notStatic(why)
	}
	for _, in := range includes {
		bare := in.label == "" && len(includes) == 1
		if in.label != name && !bare {
			continue
		}
		if !in.expose {
			return notAllowed("include.%s is not exposed", name)
		}
		whole := in.config.whole()
		if in.label == name {
			return whole, staticeval.ReasonFor(whole)
		}
		if !whole.Type().HasAttribute(name) {
			return notAllowed("include.%s is not there", name)
		}
		part := whole.GetAttr(name)
		return part, staticeval.ReasonFor(part)
	}
	return notAllowed("there is no include %s", name)
}

// feature is the value of a feature flag: its default, since who runs Terragrunt
// says what else it is.
func (c *evaluated) feature(name string) (cty.Value, *staticeval.Unknown) {
	files := []*evaluated{c}
	if c.parent == nil {
		includes, _, _ := c.includes()
		for _, in := range slices.Backward(includes) {
			if in.strategy != noMerge {
				files = append(files, in.config)
			}
		}
	}
	for _, f := range files {
		b, ok := f.features[name]
		if !ok {
			continue
		}
		attr := b.attribute("default")
		if attr == nil {
			return notAllowed("feature.%s has no default", name)
		}
		v, why := f.value(attr.Expr)
		return cty.ObjectVal(map[string]cty.Value{"value": v.Mark(assume("the feature %s has its default", name))}), why
	}
	return notStatic(&staticeval.Unknown{Reason: "feature." + name + " is not declared here"})
}

// stackValue is a value that a stack has given: a file has those that lie beside it
// [terragrunt 1.1 pkg/config/config.go].
func (c *evaluated) stackValue(name string) (cty.Value, *staticeval.Unknown) {
	from := path.Join(path.Dir(c.name), valuesName)
	if !c.isFile(from) {
		c.template = c.template || path.Dir(c.name) == c.unit
		return notStatic(c.values)
	}
	f, why := c.parse(from)
	if why != nil {
		return notStatic(why)
	}
	literals := &evaluated{unitReading: c.unitReading, configSource: f, scope: &staticeval.Scope{Bound: &c.bound}}
	if name == "" {
		v := literals.object(f.attributes())
		return v, staticeval.ReasonFor(v)
	}
	attr := f.attribute(name)
	if attr == nil {
		return notAllowed("values.%s is not there", name)
	}
	return literals.value(attr.Expr)
}

// assumption is a mark on values that are so unless somebody says otherwise.
type assumption struct{ text string }

// plainName is a name that says nothing but itself.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// assume is an assumption about what has a name.
func assume(format, name string) assumption {
	if !plainName.MatchString(name) {
		name = "of another name"
	}
	return assumption{fmt.Sprintf(format, name)}
}

// pathIn returns the path in the repository that a text stands for, which may be
// relative to a directory.
func pathIn(dir, text string) (string, *staticeval.Unknown) {
	name := path.Join(dir, text)
	if path.IsAbs(text) {
		rest, ok := cutTop(text)
		if !ok {
			return "", &staticeval.Unknown{Reason: "it leads out of the repository"}
		}
		name = path.Join(".", rest)
	}
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", &staticeval.Unknown{Reason: "it leads out of the repository"}
	}
	return name, nil
}

// cutTop returns what follows on the top of the repository in an absolute path,
// without leading up from there and back.
func cutTop(text string) (string, bool) {
	rest, ok := strings.CutPrefix(path.Clean(text), repositoryTop)
	return strings.TrimPrefix(rest, "/"), ok && (rest == "" || rest[0] == '/')
}

// asSeen is the path of what is in the repository as expressions see it.
func asSeen(name string) string { return path.Join(repositoryTop, name) }

// includes reads the files that the configuration includes. They are known before
// locals are.
func (c *evaluated) includes() ([]*include, *staticeval.Unknown, problem.Place) {
	if c.asked {
		return c.below, c.why, c.whose
	}
	c.asked = true
	early := &staticeval.Scope{Functions: c.table, Holes: &c.holes, Bound: &c.bound}
	early.Refer = func(root, name string) (cty.Value, *staticeval.Unknown) {
		switch root {
		case "values": // flags are read after the includes
			return c.refer(root, name)
		}
		return notAllowed("%s is not known in an include block", root)
	}
	var below []*include
	bare := 0
	for _, b := range c.configSource.includes {
		in, why := c.include(b, early)
		if b.label == "" {
			bare++
		}
		if why == nil && bare > 1 {
			why = &staticeval.Unknown{Refused: true, Reason: "there are several includes without a name"}
		}
		if why != nil {
			c.why, c.whose = why, problem.Place{Path: c.name, Line: b.line}
			break
		}
		below = append(below, in)
	}
	c.below = below
	return c.below, c.why, c.whose
}

// include reads the file of one block.
func (c *evaluated) include(b configBlock, early *staticeval.Scope) (*include, *staticeval.Unknown) {
	in := &include{label: b.label, line: b.line}
	if c.parent != nil {
		return nil, &staticeval.Unknown{Refused: true, Reason: "a file that is included includes another one"}
	}
	text := func(name, fallback string) (string, *staticeval.Unknown) {
		attr := b.attribute(name)
		if attr == nil {
			return fallback, nil
		}
		v, why := early.Value(attr.Expr)
		if why != nil {
			return "", why
		}
		in.assumed = append(in.assumed, v)
		return c.text(v, fallback)
	}
	expose, why := text("expose", "false")
	in.expose = expose == "true"
	if why != nil {
		return nil, why
	}
	in.strategy, why = text("merge_strategy", shallow)
	if why != nil {
		return nil, why
	}
	if !slices.Contains([]string{noMerge, shallow, deep}, in.strategy) {
		return nil, &staticeval.Unknown{Refused: true, Reason: "there is no such merge_strategy"}
	}
	name, why := text("path", "")
	if why != nil {
		return nil, why
	}
	if name == "" {
		return nil, &staticeval.Unknown{Refused: true, Reason: "the include has no path"}
	}
	in.path, why = pathIn(c.dir, name)
	if why != nil {
		return nil, why
	}
	in.config, why = c.open(in.path, c.dir, in)
	return in, why
}

// text returns the text of a value that is known, or a fallback for null.
func (c *evaluated) text(v cty.Value, fallback string) (string, *staticeval.Unknown) {
	v = c.holes.Whole(v)
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

// whole is the configuration as an object: what include.NAME and
// read_terragrunt_config give. What is not known of it is marked with the reason.
func (c *evaluated) whole() cty.Value {
	attrs := c.attributes()
	for _, name := range []string{"locals", "generate", "remote_state", "inputs"} {
		delete(attrs, name)
	}
	object := c.object(attrs).AsValueMap()
	if object == nil {
		object = map[string]cty.Value{}
	}
	object["locals"] = c.object(c.locals)
	object["inputs"] = cty.EmptyObjectVal
	if attr := c.attribute("inputs"); attr != nil {
		object["inputs"], _ = c.value(attr.Expr)
	}
	for _, b := range c.blocks("terraform", 0) {
		object["terraform"] = c.object(b.attributes())
	}
	object["generate"] = c.generateObject()
	for _, b := range c.blocks("remote_state", 0) {
		object["remote_state"] = c.object(b.attributes())
	}
	if attr := c.attribute("remote_state"); attr != nil {
		object["remote_state"], _ = c.value(attr.Expr)
	}
	object["dependency"], _ = notStatic(c.outputs)
	features := map[string]cty.Value{}
	for name := range c.features {
		features[name], _ = c.feature(name)
	}
	object["feature"] = cty.ObjectVal(features)
	return cty.ObjectVal(object)
}

// generateObject is generate in the configuration as an object.
func (c *evaluated) generateObject() cty.Value {
	if attr := c.attribute("generate"); attr != nil {
		v, _ := c.value(attr.Expr)
		return v
	}
	labels := map[string]cty.Value{}
	for _, b := range c.blocks("generate", 1) {
		labels[b.label] = c.object(b.attributes())
	}
	return cty.ObjectVal(labels)
}

// merged is whole with what the included files say, for a file that is read as
// configuration. Its locals are its own.
func (c *evaluated) merged() (cty.Value, *staticeval.Unknown) {
	includes, why, _ := c.includes()
	if why != nil {
		return notStatic(why)
	}
	object := c.whole().AsValueMap()
	for _, in := range slices.Backward(includes) {
		if in.strategy == noMerge {
			continue
		}
		for name, from := range in.config.whole().AsValueMap() {
			own, ok := object[name]
			switch {
			case name == "locals" || name == "dependency":
			case !ok:
				object[name] = from
			default:
				object[name] = over(from, own)
			}
		}
	}
	return cty.ObjectVal(object), nil
}

// over joins two objects, of which the second wins; anything else is the second.
func over(from, own cty.Value) cty.Value {
	a, b := from.Type(), own.Type()
	if !a.IsObjectType() || !b.IsObjectType() || from.IsMarked() || own.IsMarked() || !from.IsKnown() || !own.IsKnown() || from.IsNull() || own.IsNull() {
		return own
	}
	joined := map[string]cty.Value{}
	maps.Copy(joined, from.AsValueMap())
	maps.Copy(joined, own.AsValueMap())
	return cty.ObjectVal(joined)
}
