package registry

import (
	"context"

	"github.com/relock-dev/relock/internal/provider"
)

// unserved holds the 404 of a package against what else the registry says of the
// release. A server that has lost a document, or cannot reach it, answers 404 as
// well: only the list of versions, or where that is silent the signed checksum
// list, says that a release is not made for a platform. missing is what to say
// then; any other error says that the registry contradicts itself.
func (d direct) unserved(ctx context.Context, tool provider.Tool, want provider.Want, missing error) error {
	versions, err := d.versionList(ctx, tool, want.Addr)
	if err != nil {
		return err
	}
	served, listed := versions.platforms(want.Version)
	switch {
	case !listed || len(served) > 0 && !served[want.Platform]:
		return missing
	case served[want.Platform]:
		return withheld(want, "its list of versions names that platform")
	}
	for _, p := range provider.DefaultPlatforms {
		other := want
		other.Platform = p
		sibling, err := d.askProof(ctx, tool, other)
		switch {
		case err != nil || sibling.filename != archiveName(other):
		case sibling.sums.line(archiveName(want)) == nil:
			return missing
		default:
			return withheld(want, "the checksum list of the release names it")
		}
	}
	return withheld(want, "nothing says whether there is one")
}

func withheld(want provider.Want, why string) error {
	return naming(want, &provider.Error{
		Code:    provider.CodeBadAnswer,
		Message: "the registry answers 404 for the " + subject(want) + ", and " + why,
		Hint:    "try again later; if it stays so, tell the provider's publisher, or name the platforms to lock without this one",
	})
}
