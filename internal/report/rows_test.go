package report

import (
	"encoding"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// rowsOf are the types of root modules in the JSON of verbs. The others have a
// planJSON.
var rowsOf = map[string]reflect.Type{"scan": reflect.TypeFor[scanJSON](), "verify": reflect.TypeFor[verifiedJSON]()}

// TestRowsHaveTheKeysOfEarlierReleases compares every file of testdata/format1
// with the types that write such files today. Each key of the file is a field, and
// each field that is always written is in the file. Their order may differ.
func TestRowsHaveTheKeysOfEarlierReleases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "format1", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports: %v", err)
	}
	for _, name := range files {
		written, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		verb, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".json"), "-")
		of := reflect.TypeFor[document]()
		if verb == "settings" {
			of = reflect.TypeFor[settingsJSON]()
		}
		sameKeys(t, name, written, of, rowsOf[verb])
	}
}

// sameKeys compares the JSON at a path with the type that writes it. row is the type
// of modules, if it is another one than in the type.
func sameKeys(t *testing.T, path string, text json.RawMessage, of, row reflect.Type) {
	t.Helper()
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	_, asText := reflect.Zero(of).Interface().(encoding.TextMarshaler)
	_, asJSON := reflect.Zero(of).Interface().(json.Marshaler)
	switch {
	case asText || asJSON || string(text) == "null":
	case of.Kind() == reflect.Slice:
		var all []json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			t.Errorf("%s is no array, as %s: %v", path, of, err)
		}
		for i, one := range all {
			sameKeys(t, fmt.Sprintf("%s[%d]", path, i), one, of.Elem(), nil)
		}
	case of.Kind() == reflect.Struct:
		fields, keys := fieldsOf(of), keysIn(t, path, text)
		var always, known []string
		for _, f := range fields {
			name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			at := slices.IndexFunc(keys, func(k member) bool { return k.name == name })
			if at < 0 && strings.Contains(rest, "omit") {
				continue
			}
			always = append(always, name)
			if at < 0 {
				continue
			}
			if name == "modules" && row != nil {
				f.Type = reflect.SliceOf(row)
			}
			sameKeys(t, path+"."+name, keys[at].value, f.Type, nil)
		}
		for _, k := range keys {
			known = append(known, k.name)
		}
		slices.Sort(known)
		slices.Sort(always)
		if !slices.Equal(known, always) {
			t.Errorf("%s has the keys %v, and %s writes %v", path, known, of, always)
		}
	}
}

// fieldsOf are the fields of a struct in JSON, with those of embedded structs in
// their place.
func fieldsOf(of reflect.Type) (all []reflect.StructField) {
	for f := range of.Fields() {
		switch tag := f.Tag.Get("json"); {
		case tag == "-", !f.IsExported() && !f.Anonymous:
		case f.Anonymous && tag == "":
			all = append(all, fieldsOf(f.Type)...)
		default:
			all = append(all, f)
		}
	}
	return all
}

// member is a key of an object with its value.
type member struct {
	name  string
	value json.RawMessage
}

// keysIn are the members of an object in their order.
func keysIn(t *testing.T, path string, text json.RawMessage) (all []member) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		t.Errorf("%s begins with %v, %v, and is no object", path, start, err)
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return all
		}
		all = append(all, member{fmt.Sprint(name), value})
	}
	return all
}
