package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/relock-dev/relock/internal/provider"
)

// fieldsOf completes rows about the fields of a struct. The names of a row are in the tags
// of its field. Its kind and its parser follow from the field's type, if it gives none.
func fieldsOf[T any](rows func(*T) []Setting) []Setting {
	model := new(T)
	tagged := map[any]Setting{}
	readTags(reflect.ValueOf(model).Elem(), Setting{}, tagged)
	all := rows(model)
	for i, s := range all {
		named, ok := tagged[s.field]
		if !ok {
			panic(fmt.Sprintf("settings: row %d is about no field of %T", i, model))
		}
		s.Key, s.Flag, s.Input, s.Env, s.index = named.Key, named.Flag, named.Input, named.Env, named.index
		s.records = s.index
		if s.list != nil {
			s.records = tagged[s.list].index
		}
		all[i] = s.completed()
	}
	return all
}

// readTags adds the fields of a struct by their addresses. in is the struct's own field.
func readTags(v reflect.Value, in Setting, to map[any]Setting) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		s := Setting{Key: in.Key, Flag: f.Tag.Get("flag"), Input: f.Tag.Get("input"), Env: f.Tag.Get("env"), index: append(slices.Clip(in.index), i)}
		if f.Type.Kind() == reflect.Struct {
			inner := s
			if key := f.Tag.Get("key"); key != "" {
				inner.Key += key + "."
			}
			readTags(v.Field(i), inner, to)
		}
		s.Key += f.Tag.Get("key")
		if f.Tag.Get("key") == "" {
			s.Key = ""
		}
		to[v.Field(i).Addr().Interface()] = s
	}
}

// completed adds what follows from the type of the field.
func (s Setting) completed() Setting {
	if s.Kind == Text {
		s.Kind = s.kindOfField()
	}
	if s.read == nil {
		s.read = parserOf(s.field)
	}
	switch {
	case s.Default != "":
	case s.Kind == Bool:
		s.Default = "false"
	case s.Kind == Number:
		s.Default = "0"
	}
	for i := range s.Fields {
		s.Fields[i].Key, s.Fields[i].Default = s.prefix()+s.Fields[i].Key, ""
	}
	return s
}

func (s Setting) kindOfField() Kind {
	t := reflect.TypeOf(s.field).Elem()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && len(s.Fields) > 0:
		return Records
	case t.Kind() == reflect.Slice:
		return List
	case len(s.Values) > 0:
		return Choice
	case t == reflect.TypeFor[PlatformSet]():
		return Platforms
	case t == reflect.TypeFor[provider.Signers]():
		return Lists
	case t.Kind() == reflect.Map:
		return Map
	case t.Kind() == reflect.Bool:
		return Bool
	case t.Kind() == reflect.Int:
		return Number
	}
	return Text
}

// parsing reads the items of a value, which are of the setting's kind. An error comes with
// the index of the refused item.
type parsing func(items []Item) (value any, bad int, err error)

// parserOf is the parser for a field of a basic type.
func parserOf(field any) parsing {
	switch field.(type) {
	case *string:
		return one(textOf[string])
	case *int:
		return one(strconv.Atoi)
	case *bool:
		return one(truth)
	case **bool:
		return one(truthOrNil)
	case *[]string:
		return each(textOf[string])
	case *[]provider.Pattern:
		return each(provider.ParsePattern)
	case *map[string]string:
		return whole(addNamed)
	}
	return nil
}

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
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return texts
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
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[item.Name] = item.Text
	return nil
}

// fill puts values into the fields of a struct. They were checked.
func fill(target any, settings []Setting, values Values) {
	for _, s := range settings {
		v, given := values[s.Name()]
		switch {
		case !given:
		case s.structured() || v.records():
			s.fillRecords(target, v.Items)
		default:
			value, _, err := s.read(v.Items)
			s.set(target, must(value, err))
		}
	}
}

// set sets the field of a struct.
func (s Setting) set(target, value any) {
	reflect.ValueOf(target).Elem().FieldByIndex(s.index).Set(reflect.ValueOf(value))
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

// fillRecord fills a struct that may have a Place and a name of its own.
func fillRecord(entry any, fields []Setting, r Item) {
	if n, ok := entry.(interface{ setName(string) }); ok {
		n.setName(r.Name)
	}
	if place := reflect.ValueOf(entry).Elem().FieldByName("Place"); place.IsValid() {
		place.Set(reflect.ValueOf(r.Place))
	}
	fill(entry, fields, r.Fields)
}
