package pr

import "testing"

// A reason names the first few of the pull requests that need a branch, and counts the
// others.
func TestPullRequestsThatNeedABranch(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pulls []int
		want  string
	}{
		"one":   {[]int{7}, "open pull request #7 needs the branch"},
		"two":   {[]int{7, 8}, "open pull requests need the branch: #7, #8"},
		"five":  {[]int{1, 2, 3, 4, 5}, "open pull requests need the branch: #1, #2, #3, #4, #5"},
		"seven": {[]int{1, 2, 3, 4, 5, 6, 7}, "open pull requests need the branch: #1, #2, #3, #4, #5, 2 more"},
	}
	for name, tt := range tests {
		if got, want := waitsForDependents(tt.pulls), "it waits, since "+tt.want; got != want {
			t.Errorf("%s: a group says %q, want %q", name, got, want)
		}
		if got, want := neededBy(tt.pulls), "; its branch stays, since "+tt.want; got != want {
			t.Errorf("%s: a branch says %q, want %q", name, got, want)
		}
		want := "Its branch stays, since " + tt.want + ". relock pushes nothing to it, and deletes it when nothing needs it any more."
		if got := branchStays(tt.pulls).Plain(); got != want {
			t.Errorf("%s: the comment is %q, want %q", name, got, want)
		}
	}
}
