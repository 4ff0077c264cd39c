package verify

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// packages is a ModuleSource: what a registry or an address has, and one git repository with
// commits.
type packages struct {
	now       scan.Package
	named     scan.Reference
	line      map[string]bool // the commits before and at the named one
	reachable map[string]bool // further ones of other branches and tags
	err       error
}

func (p packages) Fetch(context.Context, provider.Tool, scan.Call) (scan.Package, error) {
	return p.now, p.err
}

func (p packages) Names(context.Context, provider.Tool, scan.Call) (scan.Reference, error) {
	return p.named, p.err
}

func (p packages) Precedes(_ context.Context, _ moduleaddr.Package, commit, _ string) (bool, error) {
	return p.line[commit], p.err
}

func (p packages) Reachable(_ context.Context, _ moduleaddr.Package, commit string) error {
	if p.line[commit] || p.reachable[commit] {
		return nil
	}
	return coded(problem.CodeModuleForeign)
}

func coded(code problem.Code) error {
	return &problem.Error{Problem: problem.Problem{Code: code, Message: "said so"}}
}

func TestEntriesOfModulesAreJudged(t *testing.T) {
	t.Parallel()
	const git, archive, registry = "git::https://example.com/net.git", "https://example.com/vpc.zip", "registry.terraform.io/a/vpc/aws"
	const first, second, other, fork = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222",
		"3333333333333333333333333333333333333333", "4444444444444444444444444444444444444444"
	at := func(kind scan.RefKind, commit string) packages {
		return packages{
			named: scan.Reference{Kind: kind, Commit: commit}, reachable: map[string]bool{first: true, second: true, other: true},
			line: map[string]bool{first: true, commit: true},
		}
	}
	ambiguous := at(scan.RefTag, first)
	ambiguous.named.Ambiguous = true
	pull := at(scan.RefCommit, fork)
	pull.line = nil
	vpc := packages{now: scan.Package{Repository: git, Hash: "git:" + first}}
	tests := []struct {
		name   string
		entry  modulelock.Entry
		src    ModuleSource
		moving bool
		want   problem.Code
	}{
		{"tag", entryAt(git, "v1", "git:"+first), at(scan.RefTag, first), false, ""},
		{"other_tag", entryAt(git, "v1", "git:"+first), at(scan.RefTag, second), false, problem.CodeModuleMoved},
		{"tag_that_may_move", entryAt(git, "v1", "git:"+first), at(scan.RefTag, second), true, ""},
		{"branch", entryAt(git, "main", "git:"+second), at(scan.RefBranch, second), false, ""},
		{"branch_has_gone_on", entryAt(git, "main", "git:"+first), at(scan.RefBranch, second), false, ""},
		{"other_branch", entryAt(git, "main", "git:"+other), at(scan.RefBranch, second), false, problem.CodeModuleMoved},
		{"fork_for_branch", entryAt(git, "main", "git:"+fork), at(scan.RefBranch, second), false, problem.CodeModuleForeign},
		{"head_has_gone_on", entryAt(git, "", "git:"+first), at(scan.RefDefault, second), false, ""},
		{"commit", entryAt(git, first, "git:"+first), at(scan.RefCommit, first), false, ""},
		{"other_commit", entryAt(git, second, "git:"+first), at(scan.RefCommit, second), false, problem.CodeModuleMoved},
		{"abbreviated_commit", entryAt(git, "2222222", "git:"+first), at(scan.RefOther, second), false, problem.CodeModuleMoved},
		{"commit_of_a_pull", entryAt(git, fork, "git:"+fork), pull, false, problem.CodeModuleForeign},
		{"branch_and_tag", entryAt(git, "v1", "git:"+first), ambiguous, false, problem.CodeHashUnproven},
		{"archive", entryAt(archive, "", "h1:a"), packages{now: scan.Package{Hash: "h1:a"}}, false, ""},
		{"other_content", entryAt(archive, "", "h1:a"), packages{now: scan.Package{Hash: "h1:b"}}, false, problem.CodeModuleMoved},
		{"unreachable", entryAt(archive, "", "h1:a"), packages{err: coded(problem.CodeUnreachable)}, false, problem.CodeHashUnproven},
		{"offline", entryAt(archive, "", "h1:a"), nil, false, problem.CodeHashUnproven},
		{"version", modulelock.Entry{Key: modulelock.Key{Address: registry, Version: "1.0.0"}, Package: git, Hash: "git:" + first}, vpc, false, ""},
		{"other_commit_of_version", modulelock.Entry{Key: modulelock.Key{Address: registry, Version: "1.0.0"}, Package: git, Hash: "git:" + second}, vpc, false, problem.CodeModuleMoved},
		{
			"other_repository_of_version", modulelock.Entry{Key: modulelock.Key{Address: registry, Version: "1.0.0"}, Package: "git::https://example.org/net.git", Hash: "git:" + second},
			vpc, false, problem.CodeModuleMoved,
		},
		{"other_repository_with_the_same_commit", modulelock.Entry{Key: modulelock.Key{Address: registry, Version: "1.0.0"}, Package: "git::https://example.org/net.git", Hash: "git:" + first}, vpc, false, ""},
		{"no_such_version", entryAt(registry, "9.9.9", "h1:a"), packages{err: coded(problem.CodeNoVersion)}, false, problem.CodeModuleMoved},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found, counts := JudgeModules(t.Context(), tt.src, []LockedModule{{
				Entry: tt.entry, Path: "live/.modules.lock.hcl", Tool: provider.Newest(provider.Terraform), Moving: tt.moving,
			}}, 0)
			verdict := map[problem.Code]Verdict{"": BySource, problem.CodeHashUnproven: Unproven}[tt.want]
			if verdict == "" {
				verdict = Disproven
			}
			if counts[verdict] != 1 || counts.Hashes() != 1 {
				t.Errorf("counts are %v, want one %s", counts, verdict)
			}
			var got problem.Code
			if len(found) > 0 {
				got = found[0].Code
				if f := found[0]; f.Hint == "" || f.Place.Path != "live/.modules.lock.hcl" || f.About != tt.entry.Key.String() {
					t.Errorf("found %+v, want the entry's place and a hint", f)
				}
			}
			if got != tt.want {
				t.Errorf("found %+v, want %q", found, tt.want)
			}
		})
	}
}

// TestManyEntriesOfModules asks about all entries that calls use, and about some of the others.
func TestManyEntriesOfModules(t *testing.T) {
	t.Parallel()
	const used = 400
	entries := make([]LockedModule, used+mostUnused+3)
	for i := range entries {
		entries[i] = LockedModule{Entry: entryAt(fmt.Sprintf("https://example.com/%d.zip", i), "", "h1:a"), Tool: provider.Newest(provider.Terraform), Used: i >= len(entries)-used}
	}
	found, counts := JudgeModules(t.Context(), packages{now: scan.Package{Hash: "h1:a"}}, entries, 0)
	if counts[BySource] != used+mostUnused || counts[Unproven] != 3 {
		t.Errorf("counts are %v, want %d by their sources and 3 unproven", counts, used+mostUnused)
	}
	if len(found) != 1 || found[0].About != entries[mostUnused].Key.String() || !strings.Contains(found[0].Message, "no call uses it and 2 more") {
		t.Errorf("found %+v, want that 3 are not asked about", found)
	}
}

func entryAt(address, version, hash string) modulelock.Entry {
	return modulelock.Entry{Key: modulelock.Key{Address: address, Version: version}, Hash: hash}
}
