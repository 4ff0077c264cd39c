package transport

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestPartsOfJSONAreBounded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		parts      int
	}{
		{"scalar", `1`, 0},
		{"object", `{"a":[1,2],"b":{}}`, 7},
		{"signs_in_strings", `["[{,:\"[{,:", "\\", ","]`, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, slow := range []bool{false, true} {
				read := func(most int) error {
					var r io.Reader = strings.NewReader(tt.text)
					if slow {
						r = iotest.OneByteReader(r)
					}
					var value any
					return json.NewDecoder(LimitParts(r, most)).Decode(&value)
				}
				if err := read(tt.parts); err != nil {
					t.Errorf("with %d parts allowed: %v", tt.parts, err)
				}
				if err := read(tt.parts - 1); err == nil || !strings.Contains(err.Error(), "it has more than") {
					t.Errorf("with %d parts allowed: %v, want a refusal", tt.parts-1, err)
				}
			}
		})
	}
}

func TestDecodeJSONReadsOneValueAndRefusesTooManyParts(t *testing.T) {
	t.Parallel()
	var list []int
	if err := DecodeJSON([]byte(`[1,2] and more`), &list); err != nil || len(list) != 2 {
		t.Errorf("DecodeJSON = %v, %v; want the first value", list, err)
	}
	many := "[1" + strings.Repeat(",1", mostParts) + "]"
	if err := DecodeJSON([]byte(many), &list); err == nil || !strings.Contains(err.Error(), "more than 400000 lists, objects and values") {
		t.Errorf("DecodeJSON of too many parts = %v, want a refusal that names the limit", err)
	}
}

// TestJSONOfAnotherFormIsNamedPlainly holds that no type of ours is in what
// people read.
func TestJSONOfAnotherFormIsNamedPlainly(t *testing.T) {
	t.Parallel()
	type answer struct {
		Parts []struct {
			Name string `json:"name"`
		} `json:"parts"`
	}
	for text, want := range map[string]string{
		`[]`:                       "it is a JSON array, which it must not be",
		`{"parts": {}}`:            `"parts" in it is a JSON object, which it must not be`,
		`{"parts": [{"name": 1}]}`: `"parts.name" in it is a JSON number, which it must not be`,
	} {
		for name, decode := range map[string]func([]byte, any) error{"DecodeJSON": DecodeJSON, "UnmarshalJSON": UnmarshalJSON} {
			if err := decode([]byte(text), new(answer)); err == nil || err.Error() != want {
				t.Errorf("%s(%s) = %v, want %q", name, text, err, want)
			}
		}
	}
}
