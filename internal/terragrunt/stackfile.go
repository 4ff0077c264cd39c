package terragrunt

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/units"
)

// The kinds of blocks that generate something.
const (
	unitKind  = "unit"
	stackKind = "stack"
)

// stackFile is a stack file with the files that it includes, and its evaluation.
type stackFile struct {
	dir     string
	place   problem.Place
	reading *units.Reading   // reading the generated files asks it for more names
	file    *units.Evaluator // nil if the file could not be read
	blocks  []stackBlock
	// problems are the reasons why it is not wholly known, or refused.
	problems []units.Hindrance
}

// stackBlock is a unit or a stack to generate.
type stackBlock struct {
	kind, name string
	place      problem.Place
	// source is the origin of the copy, and dir its destination.
	source units.Source
	dir    string
	// within says that a relative source is relative to the origin of the stack file.
	within bool
	// unchecked says that the directory need not fit the block's kind.
	unchecked bool
	values    cty.Value       // NilVal: it has none
	auto      *units.Declared // the file that its block autoinclude writes into the directory, or nil
	// experiment names the experiment that the block needs; empty: none.
	experiment string
	why        *units.Hindrance // why its source is not known
}

// readStackFile reads the stack file of a directory. added is the block autoinclude of the
// stack that has generated the directory, or nil. set has the values from outside; nil:
// none.
func readStackFile(r *units.Files, dir string, added *units.Declared, set *EnvironmentSet) *stackFile {
	name, reading := path.Join(dir, units.StackName), units.NewReading(r, dir, set)
	s := &stackFile{dir: dir, place: r.Place(name), reading: reading}
	s.place.Line = 1
	if units.UnitConfig(dir, reading.IsFile) != "" { // [case stack-beside-unit]
		s.refuse(s.place, "terragrunt.hcl lies beside the stack file")
	}
	file, why := reading.Open(name, dir, nil)
	if why != nil {
		s.problem(*why, s.place)
		return s
	}
	s.file = file
	blocks := s.declarations(added)
	file.Named = s.paths(blocks)
	for _, d := range blocks {
		s.blocks = append(s.blocks, s.read(d))
	}
	s.unique()
	return s
}

func (s *stackFile) refuse(at problem.Place, format string, args ...any) {
	s.problem(staticeval.Unknown{Refused: true, Reason: fmt.Sprintf(format, args...)}, at)
}

func (s *stackFile) problem(why staticeval.Unknown, at problem.Place) {
	s.problems = append(s.problems, units.Hindrance{Unknown: why, Place: at})
}

// inStackFiles are the blocks that a stack file may have [case stack-feature-in-stack-file].
var inStackFiles = []string{"locals", "include", unitKind, stackKind}

// declarations are the blocks that generate something: those of the file, those of its
// included files, and those that the outer stack adds. The last replace blocks of the same
// name [case stack-autoinclude-stack-replaces].
func (s *stackFile) declarations(added *units.Declared) []units.Declared {
	all := s.blocksOf(s.file.File, s.file)
	includes, why, at := s.included()
	if why != nil {
		s.problem(*why, at)
	}
	for _, f := range includes {
		switch {
		case len(f.Body.Blocks("locals", 0)) > 0: // [case stack-include-locals]
			s.refuse(f.Place, "an included stack file has locals")
		case len(f.Includes) > 0:
			s.refuse(f.Place, "an included stack file includes another one")
		}
		all = append(all, s.blocksOf(f, s.file)...)
	}
	names := map[string]bool{}
	for _, d := range all {
		name := d.Kind + " " + d.Block.Label
		if names[name] { // [case stack-name-twice]
			s.refuse(d.Place(), "two blocks have the name %s %q", d.Kind, units.PlainLabel(d.Block.Label))
		}
		names[name] = true
	}
	if added != nil {
		more := s.blocksOf(&units.ConfigFile{Name: added.At.Name, Place: added.At.Place, Body: added.Block.Body}, added.File)
		all = slices.DeleteFunc(all, func(d units.Declared) bool {
			return slices.ContainsFunc(more, func(m units.Declared) bool { return m.Kind == d.Kind && m.Block.Label == d.Block.Label })
		})
		all = append(all, more...)
	}
	if len(all) == 0 && len(s.problems) == 0 { // [case stack-invalid-empty]
		s.refuse(s.place, "the stack file has no unit and no stack")
	}
	return all
}

// blocksOf are the blocks of one file, evaluated in the context of another one.
func (s *stackFile) blocksOf(f *units.ConfigFile, context *units.Evaluator) []units.Declared {
	native, ok := f.Body.Body.(*hclsyntax.Body)
	if !ok {
		s.refuse(f.Place, "a stack file in JSON is not read")
		return nil
	}
	for _, attr := range units.InOrder(f.Body.Attributes()) {
		s.refuse(f.At(attr.Range.Start.Line), "a stack file has no argument %q", units.PlainLabel(attr.Name))
	}
	var all []units.Declared
	for _, b := range native.Blocks {
		at := f.At(b.DefRange().Start.Line)
		wanted := 0
		if b.Type != "locals" {
			wanted = 1
		}
		switch {
		case !slices.Contains(inStackFiles, b.Type):
			s.refuse(at, "a stack file has no block %q", units.PlainLabel(b.Type))
		case len(b.Labels) != wanted:
			s.refuse(at, "a block %q has another number of labels", b.Type)
		case b.Type == unitKind || b.Type == stackKind:
			all = append(all, units.Declared{Kind: b.Type, Block: units.Block{Body: units.Body{Body: b.Body}, Label: b.Labels[0], Line: at.Line}, File: context, At: f})
		}
	}
	return all
}

// included are the files that the stack file includes [case stack-include-locals].
func (s *stackFile) included() ([]*units.ConfigFile, *staticeval.Unknown, problem.Place) {
	var files []*units.ConfigFile
	for _, b := range s.file.File.Includes {
		at := s.file.File.At(b.Line)
		attr := b.Body.Attribute("path")
		if attr == nil {
			return files, &staticeval.Unknown{Refused: true, Reason: "the include has no path"}, at
		}
		text, why := s.text(s.file, attr, "")
		if why != nil {
			return files, why, at
		}
		name, why := units.PathIn(s.dir, text)
		if why != nil {
			return files, why, at
		}
		f, why := s.reading.Parse(name)
		if why != nil {
			return files, why, at
		}
		files = append(files, f)
	}
	return files, nil, problem.Place{}
}

// text evaluates an attribute to a text. It returns the fallback if the attribute is missing
// or null.
func (s *stackFile) text(file *units.Evaluator, attr *hcl.Attribute, fallback string) (string, *staticeval.Unknown) {
	if attr == nil {
		return fallback, nil
	}
	v, why := file.Value(attr.Expr)
	s.reading.Use(v)
	if why != nil {
		return "", why
	}
	return s.reading.Text(v, fallback)
}

// paths are the values of unit.NAME and stack.NAME. They cannot refer to each other.
func (s *stackFile) paths(blocks []units.Declared) map[string]map[string]cty.Value {
	paths := map[string]map[string]cty.Value{unitKind: {}, stackKind: {}}
	for _, d := range blocks {
		dir, why := s.generatedAt(d)
		at := cty.StringVal(units.AsSeen(dir))
		if why != nil {
			at, _ = units.NotStatic(why)
		}
		paths[d.Kind][d.Block.Label] = cty.ObjectVal(map[string]cty.Value{"path": at})
	}
	return paths
}

// generatedAt is the directory that a block generates [cases stack-no-dot-mixed,
// stack-path-absolute, stack-path-outside].
func (s *stackFile) generatedAt(d units.Declared) (string, *staticeval.Unknown) {
	attr := d.Block.Body.Attribute("path")
	text, why := s.text(d.File, attr, "")
	if why != nil {
		return "", why
	}
	base, err := s.base(d)
	name := path.Clean(text)
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(text) == "":
		return "", &staticeval.Unknown{Refused: true, Reason: "it has no path"}
	case path.IsAbs(text):
		return "", &staticeval.Unknown{Refused: true, Reason: "its path is absolute"}
	case strings.HasPrefix(name, ".."):
		return "", &staticeval.Unknown{Refused: true, Reason: "its path leads out of the stack"}
	case !plainPath(name):
		return "", &staticeval.Unknown{Refused: true, Reason: "its path is none that a repository can have"}
	}
	return path.Join(base, name), nil
}

// base is the directory to which a block's path is relative.
func (s *stackFile) base(d units.Declared) (string, *staticeval.Unknown) {
	text, why := s.text(d.File, d.Block.Body.Attribute("no_dot_terragrunt_stack"), "false")
	if text == "true" {
		return s.dir, why
	}
	return path.Join(s.dir, units.StackDirName), why
}

// plainPath reports whether a directory may be generated at a path. The path must not lead
// into a directory of another program, and it must not have control characters or the like.
func plainPath(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == '\uFFFD' }) &&
		!slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
			return strings.EqualFold(part, ".git") || part == ".terraform" || part == ".terragrunt-cache"
		})
}

// read evaluates the arguments of one block.
func (s *stackFile) read(d units.Declared) stackBlock {
	b := stackBlock{kind: d.Kind, name: units.PlainLabel(d.Block.Label), place: d.Place()}
	about := fmt.Sprintf("the %s %q", b.kind, b.name)
	stop := func(why *staticeval.Unknown, of string) {
		if why == nil {
			return
		}
		h := units.Hindrance{Unknown: *why, Place: b.place}
		h.Reason = about + " is not statically known: " + of + h.Reason
		if why.Refused {
			h.Reason = about + ": " + of + why.Reason
			s.problems = append(s.problems, h)
		}
		if b.why == nil {
			b.why = &h
		}
	}
	flag := func(name string) bool {
		text, why := s.text(d.File, d.Block.Body.Attribute(name), "false")
		stop(why, name+": ")
		return text == "true"
	}
	dir, why := s.generatedAt(d)
	b.dir = dir
	stop(why, "")
	b.within = flag("update_source_with_cas")
	b.unchecked = flag("no_validation")
	b.unchecked = flag("no_dot_terragrunt_stack") || b.unchecked
	b.source, why = s.sourceOf(d, &b)
	stop(why, "")
	b.values, why = s.valuesOf(d)
	stop(why, "its values: ")
	if auto := d.Block.Body.Blocks("autoinclude", 0); len(auto) > 0 {
		if len(auto[0].Body.Blocks("locals", 0)) > 0 { // [case stack-autoinclude-locals]
			stop(&staticeval.Unknown{Refused: true, Reason: "its autoinclude has locals"}, "")
		}
		b.auto = &units.Declared{Kind: "autoinclude", Block: auto[0], File: d.File, At: d.At}
	}
	if len(d.Block.Body.Blocks("expansion", 0)) > 0 { // [case stack-expansion]
		b.experiment = "block-iteration"
	}
	return b
}

// sourceOf reads the source of a block. It is relative to the directory of the file with
// the block. In a stack file that other stacks are made from, it may be relative to the
// origin of that file [cases stack-cas-local, stack-cas-not-literal].
func (s *stackFile) sourceOf(d units.Declared, b *stackBlock) (units.Source, *staticeval.Unknown) {
	attr := d.Block.Body.Attribute("source")
	text, why := s.text(d.File, attr, "")
	switch {
	case why != nil:
		return units.Source{}, why
	case strings.TrimSpace(text) == "": // [case stack-invalid-no-source]
		return units.Source{}, &staticeval.Unknown{Refused: true, Reason: "it has no source"}
	}
	source, why := units.ParseSource(text, "", s.dir)
	if from := s.reading.Tree.GeneratedAt(s.dir); b.within && from != nil {
		source, why = from.From.Within(attr, text)
	}
	source.Place = d.At.At(attr.Range.Start.Line)
	return source, why
}

// valuesOf are the values that a block gives. An unknown one is marked with the reason
// [cases stack-values-object, stack-values-file-replaced].
func (s *stackFile) valuesOf(d units.Declared) (cty.Value, *staticeval.Unknown) {
	attr := d.Block.Body.Attribute("values")
	if attr == nil {
		return cty.NilVal, nil
	}
	v, why := d.File.Value(attr.Expr)
	v = s.reading.Holes.Whole(v)
	s.reading.Use(v)
	if why != nil && why.Refused {
		return cty.NilVal, why
	}
	fields, bad := units.FieldsOf(v)
	switch {
	case bad != nil && bad.Refused:
		return cty.NilVal, bad
	case bad != nil:
		return v, nil
	case fields == nil:
		return cty.NilVal, nil // null
	}
	return readAgain(v), nil
}

// readAgain is a value after it was written as text and read again: lists become tuples,
// and maps become objects.
func readAgain(v cty.Value) cty.Value {
	plain, marks := v.Unmark()
	typ := plain.Type()
	if plain.IsNull() || !plain.IsKnown() {
		return v
	}
	switch {
	case typ.IsListType(), typ.IsSetType(), typ.IsTupleType():
		return cty.TupleVal(collect.Mapped(plain.AsValueSlice(), readAgain)).WithMarks(marks)
	case typ.IsMapType(), typ.IsObjectType():
		fields := plain.AsValueMap()
		for name, field := range fields {
			fields[name] = readAgain(field)
		}
		return cty.ObjectVal(fields).WithMarks(marks)
	}
	return v
}

// unique refuses blocks with the same directory [cases stack-path-twice,
// stack-unit-holds-stack-file].
func (s *stackFile) unique() {
	taken := map[string]bool{}
	for _, b := range s.blocks {
		if b.why != nil || b.dir == "" {
			continue
		}
		if taken[b.dir] {
			s.refuse(b.place, "two blocks have the path of the %s %q", b.kind, b.name)
		}
		taken[b.dir] = true
	}
}
