package run

import (
	"slices"
	"testing"

	"github.com/relock-dev/relock/internal/github"
)

// What is planned takes the place of what was merged, with the mode of that, and the rest is
// pushed with it; a conflict for which nothing is planned is never pushed.
func TestFilesOfAMerge(t *testing.T) {
	t.Parallel()
	planned := []github.File{{Path: "a/.terraform.lock.hcl", Mode: "100644", Content: []byte("planned")}}
	merged := github.File{Path: "b/.terraform.lock.hcl", Mode: "100644", Content: []byte(lockOf("null", "3.2.2"))}
	conflict := github.File{Path: "a/.terraform.lock.hcl", Mode: "100755", Content: []byte("<<<<<<< ours\n")}
	gone := github.File{Path: "c/.terraform.lock.hcl", Mode: "100644", Gone: true}
	for name, tt := range map[string]struct {
		merged  []github.File
		planned []github.File
		want    []string // nil: nothing is pushed
	}{
		"planned_alone": {nil, planned, []string{"a/.terraform.lock.hcl 100644 planned"}},
		"all": {[]github.File{gone, merged, conflict}, planned, []string{
			"a/.terraform.lock.hcl 100755 planned", "b/.terraform.lock.hcl 100644 " + lockOf("null", "3.2.2"), "c/.terraform.lock.hcl 100644 gone",
		}},
		"merged_alone":    {[]github.File{merged}, nil, []string{"b/.terraform.lock.hcl 100644 " + lockOf("null", "3.2.2")}},
		"conflict_stays":  {[]github.File{conflict, merged}, nil, nil},
		"another_planned": {[]github.File{conflict}, []github.File{merged}, nil},
	} {
		m := &MergedBase{Locks: tt.merged}
		files, complete := m.with(tt.planned)
		var got []string
		for _, f := range files {
			text := string(f.Content)
			if f.Gone {
				text = "gone"
			}
			got = append(got, f.Path+" "+f.Mode+" "+text)
		}
		if !slices.Equal(got, tt.want) || complete != (tt.want != nil) {
			t.Errorf("%s: with() = %q, %t, want %q", name, got, complete, tt.want)
		}
	}
	if planned[0].Mode != "100644" {
		t.Error("with() has changed what is planned")
	}
}
