package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// signers is a SignerSource over a table of "TYPE VERSION".
type signers struct {
	known map[string]provider.Signer
	mu    sync.Mutex
	asked []string
}

func (s *signers) Listing(_ context.Context, _ provider.Tool, want provider.Want) (provider.Listing, error) {
	release := fmt.Sprintf("%s %s", want.Addr.Type, want.Version)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, release+" "+want.Platform.String())
	signer, ok := s.known[release]
	if !ok {
		return provider.Listing{}, errors.New("withdrawn")
	}
	return provider.Listing{Signer: signer}, nil
}

func TestFormerSignersAreAskedOnceForEachReleaseThatIsLeft(t *testing.T) {
	was, is := provider.Signer{KeyID: "AAAA"}, provider.Signer{KeyID: "BBBB"}
	linux := []provider.Platform{platform("linux_amd64")}
	sel := func(typ, from, to string) Selection {
		s := Selection{Requirement: scan.Requirement{Addr: addr(typ)}, Facts: Facts{Coverage: linux, Signer: is}}
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

func TestSignersArePinned(t *testing.T) {
	t.Parallel()
	const key, fingerprint = "0123456789ABCDEF", "C874 011F 0AB4 0511 0D02  1055 0123 4567 89AB CDEF"
	unsigned := func(_ provider.Want, h *provider.Hashes) error { h.Signer = provider.Signer{}; return nil }
	mirrored := func(_ provider.Want, h *provider.Hashes) error {
		h.Signer, h.Mirror = provider.Signer{}, "mirror at /m"
		return nil
	}
	tests := []struct {
		name    string
		signers map[string][]string
		edit    func(provider.Want, *provider.Hashes) error
		want    string // in the message; empty: it is selected
	}{
		{name: "not at all"},
		{name: "for another provider", signers: map[string][]string{"hashicorp/b": {"FFFFFFFFFFFFFFFF"}}},
		{name: "to the key", signers: map[string][]string{"hashicorp/a": {"FFFFFFFFFFFFFFFF", key}}},
		{name: "to its fingerprint", signers: map[string][]string{"hashicorp/a": {fingerprint}}},
		{name: "in small letters", signers: map[string][]string{"hashicorp/a": {"0123456789abcdef"}}},
		{name: "by both patterns", signers: map[string][]string{"hashicorp/*": {"FFFFFFFFFFFFFFFF", key}, "hashicorp/a": {key}}},
		{name: "by one pattern of two", signers: map[string][]string{"hashicorp/*": {"FFFFFFFFFFFFFFFF"}, "hashicorp/a": {key}}, want: "is signed by the key"},
		{name: "to another fingerprint with the same end", signers: map[string][]string{"hashicorp/a": {"D" + fingerprint[1:]}}, want: "is signed by the key"},
		{
			name: "to another key", signers: map[string][]string{"hashicorp/*": {"FFFFFFFFFFFFFFFF"}},
			want: "the checksum list of registry.terraform.io/hashicorp/a 2.0.0 is signed by the key C874011F0AB405110D0210550123456789ABCDEF",
		},
		{name: "to no key", signers: map[string][]string{"hashicorp/a": nil}, want: "signed by the key C874011F0AB405110D0210550123456789ABCDEF"},
		{name: "to the end of a key", signers: map[string][]string{"hashicorp/a": {"89ABCDEF"}}, want: "signed by the key"},
		{name: "and unsigned", signers: map[string][]string{"hashicorp/a": {key}}, edit: unsigned, want: "signed by no announced key"},
		{name: "and of a mirror", signers: map[string][]string{"hashicorp/a": {key}}, edit: mirrored, want: "from the mirror at /m, which no signature covers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := Options{Platforms: linux, Signers: map[provider.Pattern][]string{}}
			for text, keys := range tt.signers {
				opts.Signers[patterns(text)[0]] = keys
			}
			m := module(t, []string{"a"}, []string{"a 1.0.0; h1:old"})
			r := Plan(t.Context(), &offer{releases: simple, edit: tt.edit}, []scan.RootModule{m}, opts)[0]
			err := r.Selections[0].Err
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("error: %v", err)
			case tt.want != "" && (!problem.Coded(err, problem.CodeBadSignature) || !strings.Contains(err.Error(), tt.want) || r.File != nil):
				t.Errorf("error: %v, want one that says %q; file %q", err, tt.want, r.File)
			}
		})
	}
}
