package settings

import (
	"path/filepath"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/verbs"
)

// shaping are the flags that decide what a verb writes.
var shaping = []string{
	"tool", "tool-version", "platform", "provider", "create", "module-lock", "keep-unreferenced", "hashes-from", "hash-source",
	"accept-re-released", "unreadable-modules", "strict", "allow-downgrade", "config",
}

// GivenFlag is a flag of the command line. One without a Value is a switch.
type GivenFlag struct{ Name, Value string }

// GivenFlags returns the flags with which a verb writes the same elsewhere. It turns flags,
// inputs and events of this run into flags. Values of files need none, since they apply
// everywhere.
func GivenFlags(values Values, verb verbs.Verb) []GivenFlag {
	var given collect.Set[GivenFlag]
	for _, s := range All {
		v := values[s.Name()]
		if s.Flag == "allow-downgrade" && v.By != ByFlag && values.Text("downgrades") == "allow" {
			v = Value{Items: []Item{{Text: "true"}}, By: values["downgrades"].By}
		}
		if !s.HasVerb(verb) || !slices.Contains(shaping, s.Flag) || v.By != ByFlag && v.By != ByInput {
			continue
		}
		for _, item := range v.texts() {
			switch {
			case s.Flag == "config" && !filepath.IsLocal(item): // other people may lack the file
			case s.Kind == Bool && item == "true", s.Alone != "" && item == s.Alone:
				given.Add(GivenFlag{Name: s.Flag})
			case s.Kind == Bool, s.Alone != "":
				given.Add(GivenFlag{Name: s.Flag + "=" + item})
			default:
				given.Add(GivenFlag{s.Flag, item})
			}
		}
	}
	return given.List
}
