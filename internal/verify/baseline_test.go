package verify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/problem"
)

// accepting is a baseline that accepts the findings of a run, each by its fingerprint.
func accepting(t *testing.T, findings []problem.Problem) *ledger.Baseline {
	t.Helper()
	src := "version: 1\nfindings:\n"
	for _, f := range findings {
		src += "  - {fingerprint: \"" + f.Fingerprint() + "\", reason: r, until: 2026-12-31}\n"
	}
	b, problems := ledger.ReadBaseline([]byte(src), "b.yml", time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return b
}

// A finding about several hashes is accepted for these hashes only. Otherwise a hash that
// somebody adds later would be accepted unseen.
func TestBaselinePinsWhatItHasSeen(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"re-released", "release-gone", "list-gone", "signature-bad", "signer-refused", "signer-changed"} {
		p := sound()
		plants[code](p)
		p.policy.Baseline = accepting(t, p.verify(t).Findings)
		if r := p.verify(t); len(r.Findings) > 0 || len(r.Accepted) == 0 {
			t.Errorf("%s: found %v and accepted %v, want it accepted", code, codesOf(r.Findings), r.Accepted)
		}
		switch code {
		case "signer-refused", "signer-changed":
			p.src.signedBy = "1111" + fingerprint[4:]
		default:
			p.hashes = append(p.hashes, "zh forged")
		}
		if r := p.verify(t); len(r.Findings) == 0 {
			t.Errorf("%s is accepted for what came later", code)
		}
	}
}

// Accepting one message does not accept the findings that it only counts.
func TestBaselineAcceptsNothingThatIsFolded(t *testing.T) {
	t.Parallel()
	p := sound()
	for i := range 150 {
		p.hashes = append(p.hashes, fmt.Sprintf("h1:%043d=", i))
	}
	found := p.verify(t).Findings
	if len(found) != 100 || !strings.HasSuffix(found[99].Message, "the entry has 50 more like it") {
		t.Fatalf("%d findings, the last is %q", len(found), found[len(found)-1].Message)
	}
	p.policy.Baseline = accepting(t, found)
	r := p.verify(t)
	if len(r.Findings) != 50 || len(r.Accepted) != 100 {
		t.Errorf("%d findings stand and %d are accepted, want 50 and 100", len(r.Findings), len(r.Accepted))
	}
}
