package house

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// place is where a struct has a field or a method.
type place struct {
	name        string
	depth       int
	ours        bool // it is declared in this module
	method      bool
	ofInterface bool
}

// namesAtTwoDepths are the names that a struct has itself and by embedding, or by
// embedding at several depths. A method that overrides one of an embedded interface
// is none of them.
func namesAtTwoDepths(house []*room) map[string]int {
	found := map[string]int{}
	for _, s := range house {
		scope := s.types.Scope()
		for _, typ := range scope.Names() {
			declared, ok := scope.Lookup(typ).(*types.TypeName)
			if !ok || declared.IsAlias() {
				continue
			}
			byID := map[string][]place{}
			places(byID, declared.Type(), 0, nil)
			for _, all := range byID {
				top := slices.MinFunc(all, func(a, b place) int { return a.depth - b.depth })
				deeper := slices.DeleteFunc(slices.Clone(all), func(p place) bool { return p.depth == top.depth })
				overrides := top.method && slices.ContainsFunc(deeper, func(p place) bool { return p.ofInterface })
				if len(deeper) > 0 && top.ours && !overrides {
					found[s.name+"."+typ+"."+top.name] = 1
				}
			}
		}
	}
	return found
}

// places collects the fields and methods of a struct and of what it embeds, by what
// tells names of two packages apart.
func places(byID map[string][]place, typ types.Type, depth int, within []types.Type) {
	if pointer, ok := types.Unalias(typ).(*types.Pointer); ok {
		typ = pointer.Elem()
	}
	if slices.ContainsFunc(within, func(t types.Type) bool { return types.Identical(t, typ) }) {
		return
	}
	add := func(o types.Object, method, ofInterface bool) {
		ours := o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path(), module)
		byID[o.Id()] = append(byID[o.Id()], place{o.Name(), depth, ours, method, ofInterface})
	}
	if named, ok := types.Unalias(typ).(*types.Named); ok {
		for m := range named.Methods() {
			add(m, true, false)
		}
	}
	switch under := typ.Underlying().(type) {
	case *types.Interface:
		for m := range under.Methods() {
			add(m, true, true)
		}
	case *types.Struct:
		for f := range under.Fields() {
			add(f, false, false)
			if f.Embedded() {
				places(byID, f.Type(), depth+1, append(slices.Clone(within), typ))
			}
		}
	}
}

func TestLawOfDepths(t *testing.T) {
	t.Parallel()
	house := samples(t,
		[2]string{"far", `
			type Far struct { Name string; dir string }
			func (Far) Close() {}`},
		[2]string{"p", `
			import "` + module + `/internal/far"
			type opener interface{ Open() }
			type base struct { opener; dir string }
			type loop struct { *loop; n int }
			func (base) Open() {} // as its interface wants it
			type again struct { base }
			func (again) Open() {}
			type shared struct { *base; dir int }
			type farther struct { *far.Far; dir string; Name int }
			func (f *farther) Close() {}
			type beside struct { base; far.Far }
			type deeper struct { shared }
			type alias = shared`})
	finds(t, namesAtTwoDepths, house, map[string]int{
		"p.shared.dir": 1, "p.deeper.dir": 1,
		"p.farther.Name": 1, "p.farther.Close": 1,
	})
}

// mostFiles is in how many files the methods of a type may be.
const mostFiles = 2

// spreadTypes are the types whose methods are in more files, and in how many.
func spreadTypes(house []*room) map[string]int {
	files := map[string]map[*ast.File]bool{}
	for _, s := range house {
		for _, file := range s.files {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv == nil {
					continue
				}
				typ := s.name + "." + receiver(f)
				if files[typ] == nil {
					files[typ] = map[*ast.File]bool{}
				}
				files[typ][file] = true
			}
		}
	}
	found := map[string]int{}
	for typ, in := range files {
		if len(in) > mostFiles {
			found[typ] = len(in)
		}
	}
	return found
}

func TestLawOfFiles(t *testing.T) {
	t.Parallel()
	house := samples(t, [2]string{"p", `
		type T[K any] struct{}
		type U int
		func (t *T[K]) a() {}
		func (t *T[K]) b() {}
		func (U) a() {}
		// next file
		func (t T[K]) c() {}
		func (U) c() {}
		func (U) d() {}
		// next file
		func (t *T[K]) e() {}`})
	finds(t, spreadTypes, house, map[string]int{"p.T": 3})
}
