package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// signers is a SignerSource over a table of "TYPE VERSION".
type signers struct {
	known map[string]provider.Signer
	mu    sync.Mutex
	asked []string
}

func (s *signers) Signer(_ context.Context, _ provider.Tool, want provider.Want) (provider.Signer, error) {
	release := fmt.Sprintf("%s %s", want.Addr.Type, want.Version)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, release+" "+want.Platform.String())
	signer, ok := s.known[release]
	if !ok {
		return provider.Signer{}, errors.New("withdrawn")
	}
	return signer, nil
}

func TestFormerSignersAreAskedOnceForEachReleaseThatIsLeft(t *testing.T) {
	was, is := provider.Signer{KeyID: "AAAA"}, provider.Signer{KeyID: "BBBB"}
	linux := []provider.Platform{platform("linux_amd64")}
	sel := func(typ, from, to string) Selection {
		s := Selection{Requirement: scan.Requirement{Addr: addr(typ)}, Platforms: linux, Signer: is}
		if from != "" {
			s.From = version(from)
		}
		if to != "" {
			s.To = version(to)
		}
		return s
	}
	failed := sel("failed", "1.0.0", "2.0.0")
	failed.Err = errors.New("no")
	mirrored := sel("mirrored", "1.0.0", "2.0.0")
	mirrored.Signer = provider.Signer{}
	results := []Result{
		{Selections: []Selection{
			sel("alpha", "1.0.0", "2.0.0"), sel("gone", "1.0.0", "2.0.0"), sel("same", "1.0.0", "1.0.0"),
			sel("added", "", "1.0.0"), sel("removed", "1.0.0", ""), failed, mirrored,
		}},
		{Selections: []Selection{sel("alpha", "1.0.0", "2.0.0")}},
	}
	src := &signers{known: map[string]provider.Signer{"alpha 1.0.0": was}}
	FormerSigners(t.Context(), src, results, 2)
	slices.Sort(src.asked)
	if diff := cmp.Diff([]string{"alpha 1.0.0 linux_amd64", "gone 1.0.0 linux_amd64"}, src.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for _, r := range results {
		for _, s := range r.Selections {
			want := provider.Signer{}
			if s.Requirement.Addr.Type == "alpha" {
				want = was
			}
			if s.SignerFrom != want {
				t.Errorf("%s was signed by %+v, want %+v", s.Requirement.Addr, s.SignerFrom, want)
			}
		}
	}
}
