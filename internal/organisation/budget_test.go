package organisation

import "testing"

// TestBudget holds that the pull requests of a run are shared out: no repository gets more
// than a turn allows or the run has left, and trying again to open one takes nothing.
func TestBudget(t *testing.T) {
	t.Parallel()
	b := &budget{left: 3}
	b.begin("acme/one", 2)
	for i, tt := range []struct {
		branch string
		want   bool
	}{{"a", true}, {"a", true}, {"b", true}, {"c", false}, {"a", true}} {
		if got := b.TryOpen(tt.branch); got != tt.want {
			t.Errorf("%d: TryOpen(%s) = %t, want %t", i, tt.branch, got, tt.want)
		}
	}
	if !b.waits || b.left != 1 {
		t.Errorf("after three branches = %+v, want one left and one that waits", b)
	}
	b.begin("acme/two", 2)
	if b.waits {
		t.Error("something waits in a turn that has just begun")
	}
	if !b.TryOpen("a") || b.TryOpen("b") || !b.waits {
		t.Errorf("at the end = %+v, want one branch of another repository alone to be granted", b)
	}
}
