package outline

import (
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// tallied are the nouns for the topics of a concern. Some concerns count causes,
// whatever the number of providers. The others count providers, since one provider
// has a topic for each of its old versions.
var tallied = map[Concern]struct {
	one, many safe.Markdown
	causes    bool
}{
	ConcernModule:     {safe.Const("moved module"), safe.Const("moved modules"), true},
	ConcernFailed:     {safe.Const("failure"), safe.Const("failures"), true},
	concernCarried:    {safe.Const("provider carried over"), safe.Const("providers carried over"), false},
	ConcernHash:       {safe.Const("provider with unknown hashes"), safe.Const("providers with unknown hashes"), false},
	ConcernReReleased: {safe.Const("re-released version"), safe.Const("re-released versions"), false},
	ConcernRule:       {safe.Const("provider against a rule"), safe.Const("providers against a rule"), false},
	concernSigner:     {safe.Const("new or missing signer"), safe.Const("new or missing signers"), false},
	concernDowngrade:  {safe.Const("downgrade"), safe.Const("downgrades"), false},
	concernMajor:      {safe.Const("major upgrade"), safe.Const("major upgrades"), false},
	concernBreaking:   {safe.Const("upgrade with breaking changes"), safe.Const("upgrades with breaking changes"), false},
	concernMoved:      {safe.Const("provider of another registry"), safe.Const("providers of another registry"), false},
	concernRemoved:    {safe.Const("removed provider"), safe.Const("removed providers"), false},
	ConcernRegistry:   {safe.Const("registry warning"), safe.Const("registry warnings"), true},
	ConcernPlatform:   {safe.Const("provider with missing platforms"), safe.Const("providers with missing platforms"), false},
	ConcernUnread:     {safe.Const("part that was not read"), safe.Const("parts that were not read"), true},
	ConcernWarning:    {safe.Const("warning"), safe.Const("warnings"), true},
}

// tallyOf counts what needs a reviewer, by concern; empty if nothing does.
func tallyOf(review []*Topic) safe.Markdown {
	var parts []safe.Markdown
	for _, concern := range concerns {
		words, n := tallied[concern], 0
		var providers collect.Set[provider.Addr]
		for _, c := range review {
			switch {
			case c.Concern != concern:
			case words.causes || len(c.providers.List) == 0:
				n++
			default:
				providers.Add(c.providers.List...)
			}
		}
		n += len(providers.List)
		switch {
		case n == 1:
			parts = append(parts, safe.Format("1 %s", words.one))
		case n > 1:
			parts = append(parts, safe.Format("%s %s", safe.Int(n), words.many))
		}
	}
	return safe.Join(", ", parts...)
}

// fewProviders is the highest number of providers that the sentence about signers
// names.
const fewProviders = 5

// signedBy says that the publishers' usual keys signed the releases, if any did,
// and what is not known. A key is usual unless another key is known to have signed
// the release before. reviewOf names the unusual signers.
func signedBy(d Vocabulary, common map[provider.Addr][]CommonChange) safe.Markdown {
	found := map[signature]bool{}
	var unknown []provider.Addr
	for a, of := range common {
		for _, s := range of {
			found[signatureOf(s.change)] = true
		}
		if slices.ContainsFunc(of, func(s CommonChange) bool { return signatureOf(s.change) == signatureUnknown }) {
			unknown = append(unknown, a)
		}
	}
	slices.SortFunc(unknown, provider.Addr.Compare)
	names := safe.FirstOf(collect.Mapped(unknown, d.Name), fewProviders, "more provider", "more providers")
	but := safe.Maybe(", except for those of %s, whose signers are not known", names)
	if found[signatureOdd] {
		but = safe.Const(", except where Needs review says otherwise").AndMaybe(", and for those of %s, whose signers are not known", names)
	}
	switch {
	case found[signatureUsual]:
		return safe.Format("All releases are signed by their publishers' usual keys%s.", but)
	case found[signatureOdd]:
		return safe.Maybe("The signers of the releases of %s are not known.", names)
	}
	return safe.Markdown{}
}

// signature is what a run knows of the signer of a release.
type signature int

const (
	signatureNone    signature = iota // the change takes no release, so nobody looks for a signer
	signatureUnknown                  // nobody said who signed it
	signatureUsual
	signatureOdd // another one than before, or none
)

// UsualSigner reports whether nothing is unusual about the signer of a release.
func UsualSigner(c report.Change) bool {
	return !c.Resigned() && c.Kind != diff.Signer && c.Signer.Label != unsigned
}

func signatureOf(c report.Change) signature {
	switch {
	case c.Kind == diff.Removed:
		return signatureNone
	case !UsualSigner(c):
		return signatureOdd
	case c.Signer.KeyID != "":
		return signatureUsual
	case c.Kind == diff.Constrained, c.Kind == diff.Normalised:
		return signatureNone
	}
	return signatureUnknown
}
