package settings

import (
	"slices"
	"testing"

	"github.com/relock-dev/relock/internal/verbs"
)

// Each case is a row of the table.
func TestChoose(t *testing.T) {
	t.Parallel()
	hit := map[int]bool{}
	for name, tt := range map[string]struct {
		facts Facts
		want  Layers
	}{
		"diff":                                      {Facts{Verb: verbs.Diff}, Layers{Own: FromDisk}},
		"diff by the operator's":                    {Facts{Verb: verbs.Diff, Path: PathOutside}, Layers{Operator: FromDisk}},
		"shown":                                     {Facts{Verb: verbs.ConfigShow, Head: true}, Layers{Own: FromDisk}},
		"shown over the operator's":                 {Facts{Verb: verbs.ConfigShow, Path: PathOutside}, Layers{FromDisk, FromDisk}},
		"a checkout":                                {Facts{Verb: verbs.Upgrade}, Layers{Own: FromDisk}},
		"a checkout, by the operator's":             {Facts{Verb: verbs.Upgrade, Path: PathUnread}, Layers{Operator: FromDisk}},
		"a proposal over the operator's":            {Facts{Verb: verbs.PR, Path: PathOutside}, Layers{FromDisk, FromDisk}},
		"a head by the operator's":                  {Facts{Verb: verbs.Check, Head: true, Path: PathOutside}, Layers{Operator: FromDisk}},
		"a head's proposal over the operator's":     {Facts{Verb: verbs.PR, Head: true, BaseKnown: true, Path: PathOutside}, Layers{FromDisk, FromBase}},
		"a head":                                    {Facts{Verb: verbs.Check, Head: true, BaseKnown: true}, Layers{Own: FromBase}},
		"a head, named":                             {Facts{Verb: verbs.Check, Head: true, BaseKnown: true, Path: PathUnread}, Layers{Own: FromBase}},
		"a head's proposal without a base":          {Facts{Verb: verbs.PR, Head: true, Path: PathOutside}, Layers{FromDisk, BaseUnknown}},
		"a head without a base":                     {Facts{Verb: verbs.Check, Head: true}, Layers{Own: BaseUnknown}},
		"a head without a base, named":              {Facts{Verb: verbs.Check, Head: true, Path: PathAtHand}, Layers{Own: BaseUnknown}},
		"a head, by a link":                         {Facts{Verb: verbs.Check, Head: true, BaseKnown: true, Path: PathAtHand, ByLink: true}, Layers{Own: BaseByLink}},
		"others":                                    {Facts{Verb: verbs.PR, OthersNamed: true}, Layers{}},
		"others by the operator's":                  {Facts{Verb: verbs.PR, OthersNamed: true, Head: true, Path: PathOutside}, Layers{Operator: FromDisk}},
		"others by a checkout's":                    {Facts{Verb: verbs.PR, OthersNamed: true, Path: PathUnread}, Layers{Operator: FromDisk}},
		"another is shown by the operator's":        {Facts{Verb: verbs.ConfigShow, OthersNamed: true, Path: PathUnread}, Layers{Operator: FromDisk}},
		"others, named elsewhere":                   {Facts{Verb: verbs.PR, OthersNamed: true, Head: true, Path: PathElsewhere}, Layers{Own: FromDisk}},
		"others, named in a directory":              {Facts{Verb: verbs.PR, OthersNamed: true, Path: PathAtHand}, Layers{Own: FromDisk}},
		"another is answered, named in a directory": {Facts{Verb: verbs.Comment, OthersNamed: true, Path: PathAtHand}, Layers{Own: FromDisk}},
		"others by a head's":                        {Facts{Verb: verbs.PR, OthersNamed: true, Head: true, BaseKnown: true, Path: PathUnread}, Layers{Operator: FromBase}},
		"others by a head's without a base":         {Facts{Verb: verbs.PR, OthersNamed: true, Head: true, Path: PathUnread}, Layers{Operator: BaseUnknown}},
		"others by a head's, by a link":             {Facts{Verb: verbs.PR, OthersNamed: true, Head: true, Path: PathUnread, ByLink: true}, Layers{Operator: BaseByLink}},
		"a comment":                                 {Facts{Verb: verbs.Comment, Path: PathAtHand}, Layers{}},
		"a comment by the operator's":               {Facts{Verb: verbs.Comment, Path: PathOutside}, Layers{Operator: FromDisk}},
	} {
		if got := Choose(tt.facts); got != tt.want {
			t.Errorf("%s: Choose(%+v) = %+v, want %+v", name, tt.facts, got, tt.want)
		}
		for i, c := range fileTable {
			hit[i] = hit[i] || c.holds(tt.facts)
		}
	}
	for i, c := range fileTable {
		if !hit[i] {
			t.Errorf("no case is about the row %d, %+v", i, c)
		}
	}
}

// For all facts that there can be, one row of the table holds.
func TestChooseHasOneRowForAllFacts(t *testing.T) {
	t.Parallel()
	bools := []bool{false, true}
	for _, verb := range []verbs.Verb{
		"", verbs.Scan, verbs.Upgrade, verbs.Lock, verbs.Check, verbs.PR, verbs.Verify,
		verbs.Diff, verbs.MergeDriver, verbs.Comment, verbs.ConfigValidate, verbs.ConfigShow,
	} {
		for path := PathNone; path <= PathElsewhere; path++ {
			for _, head := range bools {
				for _, base := range bools {
					for _, others := range bools {
						for _, link := range bools {
							if link && (path == PathNone || path == PathOutside) || others && slices.Contains(checkoutVerbs, verb) {
								continue
							}
							f := Facts{Verb: verb, Head: head, BaseKnown: base, OthersNamed: others, Path: path, ByLink: link}
							rows := 0
							for _, c := range fileTable {
								if c.holds(f) {
									rows++
								}
							}
							if rows != 1 {
								t.Errorf("%d rows hold for %+v, want one", rows, f)
							}
						}
					}
				}
			}
		}
	}
}

// Inputs may name other repositories for a step that is about the checkout.
func TestGivenToAVerb(t *testing.T) {
	t.Parallel()
	given := []Values{Flags(map[string][]string{"repo": {"a/b"}, "org": {"a"}, "tool": {"opentofu"}})}
	for verb, others := range map[verbs.Verb]bool{verbs.Verify: false, verbs.Scan: false, verbs.PR: true} {
		got := GivenTo(verb, given)
		if OthersNamed(Merge(got...)) != others || got[0]["tool"].Items[0] != "opentofu" {
			t.Errorf("%s is given %v, want other repositories: %t", verb, got, others)
		}
	}
	if !OthersNamed(Merge(given...)) {
		t.Error("GivenTo changes what is given")
	}
}
