package box_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/box"
	"github.com/relock-dev/relock/internal/safe"
)

const digest = "0123456789abcdef0123456789abcdef"

// What is printed is read again once it is checked, and what is not a box is none.
func TestBoxesAreReadAsTheyArePrinted(t *testing.T) {
	t.Parallel()
	one, other := box.New(box.Past, "all-0123abcd", digest), box.New(box.Again, "team-a-89abcdef", digest)
	empty := one.Item(safe.Text("Bump <!-- x --> \n- [x] "+strings.Repeat("a", 9))).String() + other.Item(safe.Const("Bump b")).String()
	if got := box.In(empty); len(got) != 0 {
		t.Errorf("boxes that nobody has checked are %v", got)
	}
	checked := strings.ReplaceAll(strings.Replace(empty, "[ ]", "[X]", 1), "\n", "\r\n")
	if diff := cmp.Diff([]box.Box{one}, box.In(checked+checked)); diff != "" {
		t.Errorf("the checked box (-want +got):\n%s", diff)
	}
	both := strings.ReplaceAll(empty, "[ ]", "[x]")
	if diff := cmp.Diff([]box.Box{other}, box.Newly(checked, both)); diff != "" {
		t.Errorf("what is checked newly (-want +got):\n%s", diff)
	}
	if got := box.Newly(both, checked); len(got) != 0 {
		t.Errorf("what is cleared is checked newly: %v", got)
	}
	for _, line := range []string{
		"- [x] Bump", "> - [x] <!-- relock-box:past all-0123abcd 0123456789abcdef -->", "- [x] <!-- relock-box:merge all-0123abcd 0123456789abcdef -->",
		"- [x] <!-- relock-box:past main 0123 -->", "- [x] <!-- relock-box:past ../all 0123456789abcdef -->", "- [x] <!--relock-box:past all-0123abcd 0123456789abcdef-->",
	} {
		if got := box.In(line); len(got) != 0 {
			t.Errorf("%q is read as %v", line, got)
		}
	}
}

// The box for all checks every box past the limit, and no other.
func TestBoxForAllChecksWhatWaits(t *testing.T) {
	t.Parallel()
	all, one, other, closed := box.Box{Act: box.All}, box.New(box.Past, "all-0123abcd", digest), box.New(box.Past, "b-0123abcd", digest), box.New(box.Again, "c-89abcdef", digest)
	var body string
	for _, b := range []box.Box{all, one, other, closed} {
		body += b.Item(safe.Const("Open")).String()
	}
	checked := strings.Replace(body, "[ ]", "[x]", 1)
	if diff := cmp.Diff([]box.Box{all, one, other}, box.Newly(body, checked)); diff != "" {
		t.Errorf("checked (-want +got):\n%s", diff)
	}
	if got := box.In(body); len(got) > 0 {
		t.Errorf("unchecked boxes are read as %v", got)
	}
}

// The box of a repository names it, and is read as it is printed.
func TestBoxForARepository(t *testing.T) {
	t.Parallel()
	one, other := box.Box{Act: box.Open, Branch: "acme/infra.live"}, box.Box{Act: box.Open, Branch: "acme/edge"}
	body := one.Item(safe.Const("Open")).String() + other.Item(safe.Const("Open")).String() + "- [x] <!-- relock-box:open acme/infra 0 -->\n- [x] <!-- relock-box:open acme/a/b -->\n"
	if diff := cmp.Diff([]box.Box{one}, box.Newly(body, strings.Replace(body, "[ ]", "[x]", 1))); diff != "" {
		t.Errorf("checked (-want +got):\n%s", diff)
	}
	if got := (box.Box{Act: box.Open, Branch: "acme/a --> b"}).Item(safe.Const("Open")).String(); got != "- Open\n" {
		t.Errorf("the line for a repository of another form is %q", got)
	}
}

// A branch that no box can name has a line without one.
func TestBoxesNameBranchesOfTheirForm(t *testing.T) {
	t.Parallel()
	for _, branch := range []string{"a -->b", "A", "", strings.Repeat("a", 99)} {
		if got := box.New(box.Past, branch, digest).Item(safe.Const("Bump")).String(); got != "- Bump\n" {
			t.Errorf("the line for the branch %q is %q", branch, got)
		}
	}
}
