package run

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/versionfile"
	"github.com/relock-dev/relock/internal/worktree"
)

// PlanDisputed resolves the conflict markers of a lock file, as Lock does, during a merge.
// The merged configuration does not exist yet. So the constraints are those that both sides
// record. Undisputed entries keep their bytes. name is the path of the file in the
// repository at top. Apart from it, only version files are read there. If something failed,
// the content is nil, and the report says why.
func PlanDisputed(ctx context.Context, s *Session, m Means, top, name string, marked []byte) ([]byte, report.Report, error) {
	none := report.Report{Verb: verbs.Lock}
	united, problems := lockfile.Read(marked, name, nil)
	if len(problems) > 0 {
		none.Diagnostics = problems
		return nil, none, nil
	}
	var disputed []provider.Pattern
	for addr := range united.Disputed {
		only, err := provider.ParsePattern(addr.String())
		if err != nil {
			return nil, none, err
		}
		disputed = append(disputed, only)
	}
	tree, err := alone(top, name, marked)
	if err != nil {
		return nil, none, err
	}
	a := toPlanDisputed(m, &Remote{FS: tree, Commit: "of the merge"}, path.Dir(name), disputed)
	j := newJob(s, a, a.means.Settings, a.targets[0], Visit{})
	p, err := findRoots(ctx, j)
	if err != nil {
		return nil, p.report, err
	}
	p = reportPlan(ctx, j, planEach(ctx, j, p.with(planOptions(j, p))))
	if p.report.Failed() || len(p.found) != 1 {
		return nil, p.report, nil
	}
	return p.found[0].result.File, p.report, nil
}

// alone is a file tree with one lock file, and the version files that may name the release
// of its tool.
func alone(top, name string, lock []byte) (fs.FS, error) {
	files := map[string][]byte{name: lock}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		for _, version := range versionfile.Paths() {
			f, err := file.Open(filepath.Join(top, filepath.FromSlash(dir), version))
			if err != nil {
				continue
			}
			src, err := worktree.ReadBounded(f)
			if err = errors.Join(err, f.Close()); err == nil {
				files[path.Join(dir, version)] = src
			}
		}
		if dir == "." {
			var none filetree.Builder
			return filetree.Overlay(none.Tree(), files)
		}
	}
}
