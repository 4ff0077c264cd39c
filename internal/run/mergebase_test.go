package run

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
)

// sides are the lock files of the fork, the base and the head by one name each; an
// empty one is not there.
func sides(fork, base, head string) [3]map[string][]byte {
	var locks [3]map[string][]byte
	for i, text := range []string{fork, base, head} {
		locks[i] = map[string][]byte{}
		if text != "" {
			locks[i]["live/.terraform.lock.hcl"] = []byte(text)
		}
	}
	return locks
}

// A lock file is merged where both sides have changed it otherwise; what becomes of
// one that a single side has removed depends on the configuration beside it.
func TestLockFilesOfAMerge(t *testing.T) {
	t.Parallel()
	one, two, three := lockOf("null", "3.2.2"), lockOf("null", "3.2.3"), lockOf("null", "3.2.4")
	aws := lockOf("aws", "5.0.0")
	for name, tt := range map[string]struct {
		locks      [3]map[string][]byte
		configured bool
		disagreed  bool
		merged     string // what it begins with
		gone       bool
	}{
		"unchanged":                      {locks: sides(one, one, one)},
		"changed_by_the_base":            {locks: sides(one, two, one)},
		"changed_by_the_head":            {locks: sides(one, one, two)},
		"changed_alike":                  {locks: sides(one, two, two)},
		"added_by_both":                  {locks: sides("", two, three), disagreed: true, merged: "<<<<<<<"},
		"changed_by_both":                {locks: sides(one, two, three), disagreed: true, merged: "<<<<<<<"},
		"other_entries":                  {locks: sides(one, two, one+aws), disagreed: true, merged: "# This file"},
		"removed_by_the_base":            {locks: sides(one, "", three), disagreed: true},
		"removed_but_configured":         {locks: sides(one, "", three), configured: true, disagreed: true, merged: three},
		"removed_by_the_head":            {locks: sides(one, three, ""), disagreed: true, gone: true},
		"removed_there_but_configured":   {locks: sides(one, three, ""), configured: true, disagreed: true, merged: three},
		"removed_by_both":                {locks: sides(one, "", "")},
		"removed_here_and_left_as_it_is": {locks: sides(one, "", one)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := disagreed(tt.locks[0], tt.locks[1], tt.locks[2])
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
			m := &merge{merged: map[string][]byte{}, modes: map[string]string{names[0]: "100755"}}
			if err := m.unite(tree, names[0], tt.locks); err != nil {
				t.Fatal(err)
			}
			got, merged := m.merged[names[0]]
			if merged != (tt.merged != "") || tt.gone != slices.Contains(m.without, names[0]) || !strings.Contains(string(got), tt.merged) {
				t.Errorf("unite() = %q, and it goes: %v; want one like %q, and that it goes: %t", got, m.without, tt.merged, tt.gone)
			}
			files, complete := m.files(nil)
			if complete == strings.HasPrefix(tt.merged, "<<<") {
				t.Errorf("files() is complete: %t, with %q", complete, got)
			}
			if tt.merged != "" && complete && (len(files) != 1 || files[0].Mode != "100755") || tt.gone && (len(files) != 1 || !files[0].Gone) {
				t.Errorf("files() = %+v", files)
			}
		})
	}
}

// A lock file that cannot be read ends the merge, with the reason.
func TestUnreadableSideRefusesTheMerge(t *testing.T) {
	t.Parallel()
	m := &merge{merged: map[string][]byte{}}
	err := m.unite(fstest.MapFS{}, "live/.terraform.lock.hcl", sides(lockOf("null", "3.2.2"), "provider {", lockOf("null", "3.2.4")))
	var no *comment.Refusal
	if !errors.As(err, &no) || !strings.Contains(err.Error(), "live/.terraform.lock.hcl:1") {
		t.Errorf("unite() = %v, want a refusal that names the line", err)
	}
}

// What is planned takes the place of what was merged, and the rest is pushed with it.
func TestFilesOfAMergeJoinThePlanned(t *testing.T) {
	t.Parallel()
	m := &merge{
		merged:  map[string][]byte{"b/.terraform.lock.hcl": []byte(lockOf("null", "3.2.2")), "a/.terraform.lock.hcl": []byte("<<<<<<< ours\n")},
		modes:   map[string]string{"a/.terraform.lock.hcl": "100755"},
		without: []string{"c/.terraform.lock.hcl"},
	}
	files, complete := m.files([]github.File{{Path: "a/.terraform.lock.hcl", Mode: "100644", Content: []byte("planned")}})
	var got []string
	for _, f := range files {
		got = append(got, f.Path+" "+f.Mode+" "+map[bool]string{true: "gone"}[f.Gone])
	}
	want := []string{"a/.terraform.lock.hcl 100755 ", "b/.terraform.lock.hcl  ", "c/.terraform.lock.hcl 100644 gone"}
	if diff := cmp.Diff(want, got); diff != "" || !complete {
		t.Errorf("files() is complete: %t (-want +got):\n%s", complete, diff)
	}
}

// A file keeps the mode of whoever has changed that.
func TestModeOfAMergedFile(t *testing.T) {
	t.Parallel()
	const name = "live/.terraform.lock.hcl"
	tree := func(mode fs.FileMode) fs.FS { return fstest.MapFS{name: {Mode: mode, Data: []byte("x")}} }
	for what, tt := range map[string]struct {
		fork, base, head fs.FileMode
		locks            [3]map[string][]byte
		want             string
	}{
		"the_head_has_changed_it": {0o644, 0o644, 0o755, sides("a", "a", "a"), "100755"},
		"the_base_has_changed_it": {0o644, 0o755, 0o644, sides("a", "a", "a"), "100755"},
		"the_head_alone_has_it":   {0o644, 0o644, 0o755, sides("", "", "a"), "100755"},
		"the_base_alone_has_it":   {0o644, 0o755, 0o644, sides("", "a", ""), "100755"},
		"nobody_has_changed_it":   {0o644, 0o644, 0o644, sides("a", "a", "a"), "100644"},
	} {
		if got := mergedMode(name, [3]fs.FS{tree(tt.fork), tree(tt.base), tree(tt.head)}, tt.locks); got != tt.want {
			t.Errorf("%s: mergedMode() = %s, want %s", what, got, tt.want)
		}
	}
}
