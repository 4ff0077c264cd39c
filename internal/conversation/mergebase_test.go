package conversation

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
)

// sidesOf are the fork, the base and the head with one lock file each; an empty one is not
// there.
func sidesOf(fork, base, head string) threeWay {
	of := func(text string) side {
		if text == "" {
			return side{fstest.MapFS{}, map[string][]byte{}}
		}
		return side{fstest.MapFS{aLock: {Data: []byte(text)}}, map[string][]byte{aLock: []byte(text)}}
	}
	return threeWay{of(fork), of(base), of(head)}
}

const aLock = "live/.terraform.lock.hcl"

// A lock file is merged where both sides have changed it otherwise; what becomes of
// one that a single side has removed depends on the configuration beside it.
func TestLockFilesOfAMerge(t *testing.T) {
	t.Parallel()
	one, two, three := lockText("null", "3.2.2"), lockText("null", "3.2.3"), lockText("null", "3.2.4")
	aws := lockText("aws", "5.0.0")
	for name, tt := range map[string]struct {
		sides      threeWay
		configured bool
		disagreed  bool
		merged     string // what it begins with
		gone       bool
	}{
		"unchanged":                      {sides: sidesOf(one, one, one)},
		"changed_by_the_base":            {sides: sidesOf(one, two, one)},
		"changed_by_the_head":            {sides: sidesOf(one, one, two)},
		"changed_alike":                  {sides: sidesOf(one, two, two)},
		"added_by_both":                  {sides: sidesOf("", two, three), disagreed: true, merged: "<<<<<<<"},
		"changed_by_both":                {sides: sidesOf(one, two, three), disagreed: true, merged: "<<<<<<<"},
		"other_entries":                  {sides: sidesOf(one, two, one+aws), disagreed: true, merged: "# This file"},
		"removed_by_the_base":            {sides: sidesOf(one, "", three), disagreed: true},
		"removed_but_configured":         {sides: sidesOf(one, "", three), configured: true, disagreed: true, merged: three},
		"removed_by_the_head":            {sides: sidesOf(one, three, ""), disagreed: true, gone: true},
		"removed_there_but_configured":   {sides: sidesOf(one, three, ""), configured: true, disagreed: true, merged: three},
		"removed_by_both":                {sides: sidesOf(one, "", "")},
		"removed_here_and_left_as_it_is": {sides: sidesOf(one, "", one)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := tt.sides.disagreed()
			if (len(names) == 1) != tt.disagreed {
				t.Fatalf("disagreed() = %q, want a file: %t", names, tt.disagreed)
			}
			if !tt.disagreed {
				return
			}
			tree := fstest.MapFS{"README.md": {}}
			if tt.configured {
				tree["live/main.tf"] = &fstest.MapFile{}
			}
			got, err := tt.sides.unite(tree, names[0])
			if err != nil {
				t.Fatal(err)
			}
			if got == nil {
				got = &github.File{Path: aLock}
			}
			if got.Path != aLock || got.Gone != tt.gone || (len(got.Content) > 0) != (tt.merged != "") || !strings.Contains(string(got.Content), tt.merged) {
				t.Errorf("unite() = %q, and it goes: %t; want one like %q, and that it goes: %t", got.Content, got.Gone, tt.merged, tt.gone)
			}
		})
	}
}

// A lock file that cannot be read ends the merge, with the reason.
func TestUnreadableSideRefusesTheMerge(t *testing.T) {
	t.Parallel()
	_, err := sidesOf(lockText("null", "3.2.2"), "provider {", lockText("null", "3.2.4")).unite(fstest.MapFS{}, aLock)
	var no *comment.Refusal
	if !errors.As(err, &no) || !strings.Contains(err.Error(), "live/.terraform.lock.hcl:1") {
		t.Errorf("unite() = %v, want a refusal that names the line", err)
	}
}

// A file keeps the mode of the side that has changed it.
func TestModeOfAMergedFile(t *testing.T) {
	t.Parallel()
	of := func(text string, mode fs.FileMode) side {
		s := side{fstest.MapFS{aLock: {Mode: mode, Data: []byte("x")}}, map[string][]byte{}}
		if text != "" {
			s.locks[aLock] = []byte(text)
		}
		return s
	}
	for what, tt := range map[string]struct {
		sides threeWay
		want  string
	}{
		"the_head_has_changed_it": {threeWay{of("a", 0o644), of("a", 0o644), of("a", 0o755)}, "100755"},
		"the_base_has_changed_it": {threeWay{of("a", 0o644), of("a", 0o755), of("a", 0o644)}, "100755"},
		"the_head_alone_has_it":   {threeWay{of("", 0o644), of("", 0o644), of("a", 0o755)}, "100755"},
		"the_base_alone_has_it":   {threeWay{of("", 0o644), of("a", 0o755), of("", 0o644)}, "100755"},
		"nobody_has_changed_it":   {threeWay{of("a", 0o644), of("a", 0o644), of("a", 0o644)}, "100644"},
	} {
		if got := tt.sides.mode(aLock); got != tt.want {
			t.Errorf("%s: mode() = %s, want %s", what, got, tt.want)
		}
	}
}

// lockText is a lock file with one entry.
func lockText(typ, version string) string {
	return "provider \"registry.terraform.io/hashicorp/" + typ + "\" {\n  version = \"" + version + "\"\n}\n"
}
