package run

import "testing"

// Nobody's head adds to what is remembered, with whatever verb and wherever it
// is looked at.
func TestLearns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		verb     Verb
		head     Head
		onGitHub bool
		planned  bool
		want     bool
	}{
		{Upgrade, NoHead, false, false, true},
		{Check, NoHead, false, false, true},
		{PR, NoHead, true, false, true},
		{Check, NoHead, true, false, false},
		{Upgrade, NoHead, true, false, false},
		{PR, OwnHead, true, false, false},
		{PR, ForkHead, true, false, false},
		{Check, ForkHead, false, false, false},
		{Upgrade, OwnHead, false, false, false},
		{Verify, NoHead, false, false, true},
		{Verify, NoHead, true, true, true},
		{Verify, NoHead, true, false, false},
		{Verify, OwnHead, true, true, false},
		{Check, NoHead, true, true, false},
	} {
		if got := learns(Env{OnGitHub: test.onGitHub, Planned: test.planned}, Request{Verb: test.verb, Head: test.head}); got != test.want {
			t.Errorf("%s of head %d, on GitHub %t, planned %t, learns: %t, want %t", test.verb, test.head, test.onGitHub, test.planned, got, test.want)
		}
	}
}
