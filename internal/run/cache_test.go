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
		want     bool
	}{
		{Upgrade, NoHead, false, true},
		{Check, NoHead, false, true},
		{PR, NoHead, true, true},
		{Check, NoHead, true, false},
		{Upgrade, NoHead, true, false},
		{PR, OwnHead, true, false},
		{PR, ForkHead, true, false},
		{Check, ForkHead, false, false},
		{Upgrade, OwnHead, false, false},
	} {
		if got := learns(Env{OnGitHub: test.onGitHub}, Request{Verb: test.verb, Head: test.head}); got != test.want {
			t.Errorf("%s of head %d, on GitHub %t, learns: %t, want %t", test.verb, test.head, test.onGitHub, got, test.want)
		}
	}
}
