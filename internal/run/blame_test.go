package run

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
)

// TestBaseKnowsWhatItJudges names findings, and whether they are about something that the
// base has in a lock file which is judged itself.
func TestBaseKnowsWhatItJudges(t *testing.T) {
	t.Parallel()
	entry := func(version, hashes string) string {
		return "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"" + version + "\"\n" + hashes + "}\n"
	}
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := fstest.MapFS{
		"live/.terraform.lock.hcl":    file(entry("3.2.4", "  hashes = [\"h1:a\", \"zh:b\"]\n")),
		".hidden/.TERRAFORM.LOCK.HCL": file(entry("3.2.4", "  hashes = [\"h1:c\"]\n")),
		"bare/.terraform.lock.hcl":    file(entry("3.2.3", "")),
		"out/.terraform.lock.hcl":     file(entry("3.2.4", "  hashes = [\"h1:excluded\"]\n")),
		"broken/.terraform.lock.hcl":  file("provider {"),
	}
	base, err := readLocks(t.Context(), inventory{
		inForce: func() (settings.Settings, error) { return settings.Settings{Exclude: []string{"out"}}, nil },
		extent:  extent{base: func(context.Context) (*Remote, error) { return &Remote{FS: files}, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		code            problem.Code
		version, hashes string
		hash            provider.Hash
		refuted         []provider.Hash
		known           bool
	}{
		"hash_of_the_base":                     {code: problem.CodeHashUnknown, version: "3.2.4", hash: "h1:a", known: true},
		"hash_of_another_file":                 {code: problem.CodeHashUnknown, version: "3.2.4", hash: "h1:c", known: true},
		"hash_of_another_version":              {code: problem.CodeHashUnknown, version: "3.2.5", hash: "h1:a"},
		"hash_of_an_excluded_file":             {code: problem.CodeHashUnknown, version: "3.2.4", hash: "h1:excluded"},
		"new_hash":                             {code: problem.CodeHashUnproven, version: "3.2.4", hash: "h1:new"},
		"entry_without_hashes":                 {code: problem.CodeHashUnproven, version: "3.2.3", known: true},
		"entry_that_lost_its_hashes":           {code: problem.CodeHashUnproven, version: "3.2.4"},
		"release_that_is_gone":                 {code: problem.CodeReleaseGone, version: "3.2.4", hashes: "  hashes = [\"h1:a\"]\n", known: true},
		"release_that_is_gone_with_a_new_hash": {code: problem.CodeReleaseGone, version: "3.2.4", hashes: "  hashes = [\"h1:a\", \"h1:new\"]\n"},
		"replaced_release":                     {code: problem.CodeReReleased, version: "3.2.4", hash: "zh:b", refuted: []provider.Hash{"zh:b"}, known: true},
		"replaced_release_with_one_hash_more":  {code: problem.CodeReReleased, version: "3.2.4", hash: "zh:b", refuted: []provider.Hash{"zh:b", "zh:new"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lock, problems := lockfile.Parse([]byte(entry(tt.version, tt.hashes)), "lock")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			about := problem.Subject{Addr: lock.Locks[0].Addr, Version: lock.Locks[0].Version, Versioned: true, Hash: tt.hash}
			f := found{module: scan.RootModule{Root: scan.Root{Lock: lock}}, result: upgrade.Result{}}
			for _, h := range tt.refuted {
				refuted := about
				refuted.Hash = h
				f.result.Refuted = append(f.result.Refuted, refuted)
			}
			if got := base.has(problem.Problem{Code: tt.code, Subject: about}, f); got != tt.known {
				t.Errorf("the base has it: %t, want %t", got, tt.known)
			}
		})
	}
}
