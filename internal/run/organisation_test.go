package run

import "testing"

// TestRoom holds that the pull requests of a run are shared out: nobody has more than
// a turn allows or the run has left, and trying again to open one takes nothing.
func TestRoom(t *testing.T) {
	t.Parallel()
	r := &room{left: 3, turn: 2}
	for i, tt := range []struct {
		branch string
		want   bool
	}{{"a", true}, {"a", true}, {"b", true}, {"c", false}, {"a", true}} {
		if got := r.take(tt.branch); got != tt.want {
			t.Errorf("%d: take(%s) = %t, want %t", i, tt.branch, got, tt.want)
		}
	}
	if !r.denied || r.left != 1 {
		t.Errorf("after three wishes = %+v, want one left and one denied", r)
	}
	r.turn, r.denied = 2, false
	if !r.take("d") || r.take("e") || !r.denied {
		t.Errorf("at the end = %+v, want d alone to be granted", r)
	}
	if (*room)(nil).may("acme/a") != nil {
		t.Error("there is a limit where nobody has set one")
	}
}
