package settings

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// fieldsOf completes rows about the fields of a struct. The names of a row are in the tags
// of its field. Its kind and its parser follow from the field's type, if it gives none.
func fieldsOf[T any](rows func(*T) []Setting) []Setting {
	model := new(T)
	tagged := map[any]Setting{}
	readTags(reflect.ValueOf(model).Elem(), "", nil, tagged)
	all := rows(model)
	for i := range all {
		s := &all[i]
		named, ok := tagged[s.field]
		if !ok {
			panic(fmt.Sprintf("settings: row %d is about no field of %T", i, model))
		}
		s.Key, s.Flag, s.Input, s.Env, s.index, s.records = named.Key, named.Flag, named.Input, named.Env, named.index, named.index
		if s.list != nil {
			s.records = tagged[s.list].index
		}
		s.complete()
	}
	return all
}

// readTags adds the fields of a struct by their addresses. prefix is what their keys begin
// with.
func readTags(v reflect.Value, prefix string, index []int, to map[any]Setting) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		s := Setting{Flag: f.Tag.Get("flag"), Input: f.Tag.Get("input"), Env: f.Tag.Get("env"), index: append(slices.Clip(index), i)}
		inner := prefix
		if key := f.Tag.Get("key"); key != "" {
			s.Key, inner = prefix+key, prefix+key+"."
		}
		to[v.Field(i).Addr().Interface()] = s
		if f.Type.Kind() == reflect.Struct {
			readTags(v.Field(i), inner, s.index, to)
		}
	}
}

// complete adds the kind, the parser and the default of the field's type, and the prefix of
// the keys of Fields.
func (s *Setting) complete() {
	kind, read := ofType(s.field)
	switch {
	case kind == List && len(s.Fields) > 0:
		kind = Records
	case kind != List && len(s.Values) > 0:
		kind = Choice
	}
	s.Kind = cmp.Or(s.Kind, kind)
	s.byName = s.byName || s.Kind == Map || s.Kind == Lists
	if s.read == nil {
		s.read = read
	}
	s.Default = cmp.Or(s.Default, map[Kind]string{Bool: "false", Number: "0"}[s.Kind])
	for i := range s.Fields {
		s.Fields[i].Key, s.Fields[i].Default = s.prefix()+s.Fields[i].Key, ""
	}
}

// ofType returns the kind of a field and its parser, if the type has one.
func ofType(field any) (Kind, parsing) {
	switch field.(type) {
	case *string:
		return Text, one(textOf[string])
	case *int:
		return Number, one(strconv.Atoi)
	case *bool:
		return Bool, one(truth)
	case **bool:
		return Bool, one(truthOrNil)
	case *[]string:
		return List, each(textOf[string])
	case *[]provider.Pattern:
		return List, each(provider.ParsePattern)
	case *map[string]string:
		return Map, whole(addNamed)
	case *map[problem.Code]problem.Severity:
		return Map, whole(addSeverity)
	case *provider.Signers:
		return Lists, whole(addSigner)
	case *PlatformSet:
		return Platforms, readPlatforms
	}
	if reflect.TypeOf(field).Elem().Kind() == reflect.Slice {
		return List, nil
	}
	return Text, nil
}

// parsing reads the items of a value, which are of the setting's kind. An error comes with
// the index of the refused item.
type parsing func(items []Item) (value any, bad int, err error)

// one reads the only item.
func one[T any](parse func(string) (T, error)) parsing {
	return func(items []Item) (any, int, error) {
		value, err := parse(items[0].Text)
		return value, 0, err
	}
}

// each reads items into a list.
func each[T any](parse func(string) (T, error)) parsing {
	return whole(func(to *[]T, item Item) error {
		value, err := parse(item.Text)
		*to = append(*to, value)
		return err
	})
}

// said reads the only item, if it is not empty.
func said[T any](parse func(string) (T, error)) parsing {
	return one(func(text string) (*T, error) {
		value, err := parse(text)
		if text == "" {
			return nil, err
		}
		return &value, err
	})
}

// whole reads items into one value.
func whole[T any](add func(*T, Item) error) parsing {
	return func(items []Item) (any, int, error) {
		var value T
		for i, item := range items {
			if err := add(&value, item); err != nil {
				return nil, i, err
			}
		}
		return value, 0, nil
	}
}

// textOf reads a text, or one of the words that a row admits.
func textOf[T ~string](s string) (T, error) { return T(s), nil }

// wordsOf are words as texts.
func wordsOf[T ~string](words ...T) []string {
	return collect.Mapped(words, func(w T) string { return string(w) })
}

func truth(s string) (bool, error) { return s == "true", nil }

// truthOrNil reads true or false; another word is nil.
func truthOrNil(s string) (*bool, error) {
	yes := s == "true"
	if !yes && s != "false" {
		return nil, nil
	}
	return &yes, nil
}

// optional reads nothing of an empty text.
func optional[T any](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (value T, err error) {
		if s == "" {
			return value, nil
		}
		return parse(s)
	}
}

// addNamed adds an entry of a map.
func addNamed(to *map[string]string, item Item) error {
	put(to, item.Name, item.Text)
	return nil
}

// put sets an entry of a map that may be nil.
func put[K comparable, V any](to *map[K]V, key K, value V) {
	if *to == nil {
		*to = map[K]V{}
	}
	(*to)[key] = value
}

// fill puts values into the fields of a struct, and reports those that are refused.
func fill(target any, settings []Setting, values Values) []problem.Problem {
	var problems []problem.Problem
	for _, s := range settings {
		v, given := values[s.Name()]
		if !given {
			continue
		}
		if s.structured() || v.records() {
			s.fillRecords(target, v.Items)
		} else if _, _, err := s.parse(target, v.Items); err != nil {
			problems = append(problems, v.diagnose(err))
		}
	}
	return problems
}

// fillRecords makes the field a list of structs, one for each record.
func (s Setting) fillRecords(target any, records []Item) {
	if s.late {
		return
	}
	list := reflect.ValueOf(target).Elem().FieldByIndex(s.records)
	for _, r := range records {
		entry := reflect.New(list.Type().Elem())
		fillRecord(entry.Interface(), s.Fields, r)
		list.Set(reflect.Append(list, entry.Elem()))
	}
}

// fillRecord fills a struct that may have a Place and a name of its own. The reader of files
// has checked the record.
func fillRecord(entry any, fields []Setting, r Item) {
	if n, ok := entry.(interface{ setName(string) }); ok {
		n.setName(r.Name)
	}
	if place := reflect.ValueOf(entry).Elem().FieldByName("Place"); place.IsValid() {
		place.Set(reflect.ValueOf(r.Place))
	}
	if problems := fill(entry, fields, r.Fields); len(problems) > 0 {
		panic("settings: a record that was read is refused: " + problems[0].String())
	}
}
