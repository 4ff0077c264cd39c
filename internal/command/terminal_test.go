package command

import (
	"strings"
	"testing"
)

// NO_COLOR wins over what is forced, and that over what the terminal is.
func TestColored(t *testing.T) {
	t.Parallel()
	for vars, want := range map[string][2]bool{ // on a terminal, elsewhere
		"":                            {true, false},
		"NO_COLOR=1":                  {false, false},
		"NO_COLOR=1 CLICOLOR_FORCE=1": {false, false},
		"CLICOLOR_FORCE=1":            {true, true},
		"CLICOLOR_FORCE=0":            {true, false},
		"CLICOLOR=0":                  {false, false},
		"TERM=dumb":                   {false, false},
		"TERM=dumb CLICOLOR_FORCE=1":  {true, true},
	} {
		getenv := func(name string) string {
			for v := range strings.FieldsSeq(vars) {
				if key, value, _ := strings.Cut(v, "="); key == name {
					return value
				}
			}
			return ""
		}
		if got := [2]bool{colored(true, getenv), colored(false, getenv)}; got != want {
			t.Errorf("with %q: colored on a terminal and elsewhere = %v, want %v", vars, got, want)
		}
	}
}
