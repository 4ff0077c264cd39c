package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/typed"
)

// CheckDispatch refuses inputs of a workflow_dispatch event that begin with DispatchPrefix
// and are no inputs of the Action, also without a value: a misspelt relock-dry-run would
// start a real run. Its error is a problem.Several.
func CheckDispatch(given map[string]string) error {
	var known, shown []string
	for _, s := range All {
		if s.Input == "" {
			continue
		}
		known = append(known, DispatchPrefix+s.Input)
		if !s.Secret {
			shown = append(shown, s.Input)
		}
	}
	slices.Sort(shown)
	var unknown problem.Several
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !strings.HasPrefix(name, DispatchPrefix) || slices.Contains(known, name) {
			continue
		}
		hint := "after " + DispatchPrefix + " comes one of " + strings.Join(shown, ", ")
		if near := typed.Nearest(strings.TrimPrefix(name, DispatchPrefix), shown); near != "" {
			hint = fmt.Sprintf("did you mean %s%s? A%s", DispatchPrefix, near, hint[1:])
		}
		unknown = append(unknown, refusal(problem.Place{}, hint, "dispatch input %s: there is no such input", name))
	}
	if len(unknown) == 0 {
		return nil
	}
	return unknown
}
