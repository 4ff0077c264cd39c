package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
)

// What a run may have read decides whether a base that has moved is planned again.
func TestMatters(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"live/main.tf": true, "live/.terraform.lock.hcl": true, ".terraform-version": true, ".github/relock.yml": true,
		"README.md": false, ".github/workflows/ci.yml": false,
	} {
		if got := matters(filetree.ChangedPath{Path: path, File: true}); got != want {
			t.Errorf("matters(%s) = %t, want %t", path, got, want)
		}
	}
	if !matters(filetree.ChangedPath{Path: "README.md"}) {
		t.Error("a link or a submodule does not matter, though a module may lie behind it")
	}
}

// What a Terragrunt unit reads, a file or all of a directory, matters as well.
func TestNoticedBy(t *testing.T) {
	t.Parallel()
	unit := found{module: scan.RootModule{Root: scan.Root{Dir: "live", Files: []string{"envs/prod.json", "regions/"}}}}
	noticed := noticedBy([]found{{}, unit})
	for path, want := range map[string]bool{
		"envs/prod.json": true, "regions/new.txt": true, "live/main.tf": true,
		"envs/other.json": false, "regions": false, "regions/eu/a.txt": false, "README.md": false,
	} {
		if got := noticed(filetree.ChangedPath{Path: path, File: true}); got != want {
			t.Errorf("noticedBy()(%s) = %t, want %t", path, got, want)
		}
	}
}

// What an earlier plan has done about pull requests is not lost by a later one.
func TestKeep(t *testing.T) {
	t.Parallel()
	pull := func(branch, operation, reason string) report.PullRequest {
		return report.PullRequest{Branch: branch, Operation: operation, Reason: reason}
	}
	before := report.Report{PullRequests: []report.PullRequest{
		pull("closed", "closed", "nothing left to do"), pull("made", "created", ""), pull("same", "none", "already up to date"), pull("edited", "updated", ""),
	}}
	now := report.Report{PullRequests: []report.PullRequest{
		pull("made", "updated", ""), pull("same", "none", "already up to date"), pull("edited", "none", "already up to date"),
	}}
	want := []report.PullRequest{
		pull("made", "created", ""), pull("same", "none", "already up to date"), pull("edited", "updated", ""), pull("closed", "closed", "nothing left to do"),
	}
	if diff := cmp.Diff(want, KeepDone(now, before).PullRequests); diff != "" {
		t.Errorf("KeepDone() (-want +got):\n%s", diff)
	}
}
