package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// merged is a root module whose lock file two people have changed. Without a base the file
// has only the two sides, as git leaves it.
func merged(t *testing.T, requirements, base, ours, theirs []string) scan.RootModule {
	t.Helper()
	print := func(locks []string) []byte {
		return (&lockfile.File{Tool: provider.Terraform, Locks: entries(t, locks)}).Print()
	}
	source := lockfile.Marked(print(ours), print(theirs))
	if base != nil {
		content, _, diagnostics := lockfile.Merge(print(base), print(ours), print(theirs), "root/.terraform.lock.hcl")
		if len(diagnostics) > 0 {
			t.Fatalf("Merge: %v", diagnostics)
		}
		source = content
	}
	m := module(t, requirements, nil)
	file, diagnostics := lockfile.Read(source, "root/.terraform.lock.hcl", nil)
	if len(diagnostics) > 0 {
		t.Fatalf("Read: %v", diagnostics)
	}
	m.Lock = file
	if d, conflicted := file.Conflicted(); conflicted {
		m.Tree.Diagnostics = append(m.Tree.Diagnostics, d)
	}
	return m
}

// recordedOf are the recorded hashes of a release of "a" on some platforms.
func recordedOf(version string, platforms ...string) string {
	hashes := []string{}
	for _, p := range platforms {
		hashes = append(hashes, "h1:a-"+version+"-"+p)
	}
	for _, p := range six {
		hashes = append(hashes, "zh:a-"+version+"-"+p)
	}
	slices.Sort(hashes)
	return "a " + version + "; " + strings.Join(hashes, " ")
}

func TestCompleteSettlesMergeConflicts(t *testing.T) {
	t.Parallel()
	linux, darwin, windows := "linux_amd64", "darwin_arm64", "windows_amd64"
	with := func(entry, constraints string) string { return strings.Replace(entry, ";", " "+constraints+";", 1) }
	tests := []struct {
		name               string
		requirements       []string
		base, ours, theirs []string
		opts               Options
		want               []string
		said               string // in a warning
	}{
		{
			"the newer one is taken, on the platforms of both", []string{"a >= 1.0.0"}, nil,
			[]string{recordedOf("1.1.0", linux, darwin)}, []string{recordedOf("1.0.0", linux, windows)}, Options{},
			[]string{with(recordedOf("1.1.0", linux, darwin, windows), ">= 1.0.0")}, "hashicorp/a 1.1.0 and 1.0.0: 1.1.0 is selected",
		},
		{
			"the older one, if the constraints allow no other", []string{"a < 1.1.0"}, nil,
			[]string{recordedOf("1.1.0", linux, darwin)}, []string{recordedOf("1.0.0", linux, darwin)}, Options{},
			[]string{with(recordedOf("1.0.0", linux, darwin), "< 1.1.0")}, "1.0.0 is selected",
		},
		{
			"another one, if the constraints allow neither", []string{"a >= 1.2.0"}, nil,
			[]string{recordedOf("1.1.0", linux, darwin)}, []string{recordedOf("1.0.0", linux, darwin)}, Options{},
			[]string{with(recordedOf("1.2.0", linux, darwin), ">= 1.2.0")}, "1.2.0 is selected, since neither is allowed and offered",
		},
		{
			"another one, if neither is offered any more", []string{"a"}, nil,
			[]string{"a 1.1.5; h1:x"}, []string{"a 1.0.5; h1:y"}, Options{Platforms: Platforms{List: []provider.Platform{platform(linux)}}},
			[]string{recordedOf("1.2.0", linux)}, "1.2.0 is selected, since neither",
		},
		{
			"a version that one side alone has moved, also down", []string{"a"}, []string{recordedOf("1.1.0", linux, darwin)},
			[]string{recordedOf("1.1.0", linux, darwin, windows)}, []string{recordedOf("1.0.0", linux, darwin)}, Options{},
			[]string{recordedOf("1.0.0", linux, darwin, windows)}, "1.0.0 is selected",
		},
		{
			"one version that both have completed", []string{"a"}, nil,
			[]string{recordedOf("1.0.0", linux, darwin)}, []string{recordedOf("1.0.0", linux, windows)}, Options{},
			[]string{recordedOf("1.0.0", linux, darwin, windows)}, "",
		},
		{
			"a hash that only a side proves is not taken over", []string{"a"}, nil,
			[]string{recordedOf("1.0.0", linux, darwin)}, []string{recordedOf("1.0.0", linux, darwin) + " h1:nothing zh:nothing"}, Options{},
			[]string{recordedOf("1.0.0", linux, darwin)}, "",
		},
		{
			"a hash of the other version that git has mixed in", []string{"a"}, nil,
			[]string{recordedOf("1.1.0", linux, darwin) + " h1:a-1.0.0-linux_amd64"}, []string{recordedOf("1.0.0", linux, darwin)}, Options{},
			[]string{recordedOf("1.1.0", linux, darwin)}, "",
		},
		{
			"the conflict is elsewhere, and so is the provider that is named", []string{"a", "b"}, nil,
			[]string{recordedOf("1.0.0", linux, darwin), "b 1.0.0; h1:kept"}, []string{recordedOf("1.1.0", linux, darwin), "b 1.0.0; h1:kept"},
			Options{Only: patterns("*/b"), Platforms: Platforms{List: []provider.Platform{platform(linux)}}},
			[]string{recordedOf("1.1.0", linux), "b 1.0.0; h1:b-1.0.0-linux_amd64 h1:kept zh:b-1.0.0-linux_amd64"}, "",
		},
		{
			"what nothing requires, by what is recorded", nil, nil,
			[]string{with(recordedOf("1.0.0", linux, darwin), "~> 1.0")}, []string{with(recordedOf("1.1.0", linux, darwin), "~> 1.0")}, Options{},
			[]string{with(recordedOf("1.1.0", linux, darwin), "~> 1.0")}, "",
		},
		{
			"nothing is disputed: the file is written without the markers", []string{"a"}, nil,
			[]string{recordedOf("1.0.0", linux, darwin)}, []string{recordedOf("1.0.0", linux, darwin)}, Options{},
			[]string{recordedOf("1.0.0", linux, darwin)}, "",
		},
		{
			"an entry of one side alone", []string{"a"}, nil,
			[]string{recordedOf("1.0.0", linux, darwin), "b 1.0.0; h1:b"}, []string{recordedOf("1.0.0", linux, darwin)}, Options{},
			[]string{recordedOf("1.0.0", linux, darwin), "b 1.0.0; h1:b"}, "",
		},
		{
			"a rule to leave the provider alone cannot leave a conflict", []string{"a"}, nil,
			[]string{recordedOf("1.0.0", linux, darwin)}, []string{recordedOf("1.1.0", linux, darwin)},
			Options{Policy: policy.Rulebook{Rules: []policy.Rule{{Ignore: new(true)}}}},
			[]string{recordedOf("1.1.0", linux, darwin)}, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := &offer{releases: map[string]map[string][]string{
				"a": {"1.0.0": six, "1.1.0": six, "1.2.0": six}, "b": {"1.0.0": {linux}},
			}}
			tt.opts.Mode = Complete
			r := Plan(t.Context(), src, modules(merged(t, tt.requirements, tt.base, tt.ours, tt.theirs)), tt.opts)[0]
			if diff := cmp.Diff(tt.want, summary(r)); diff != "" {
				t.Errorf("new lock file (-want +got):\n%s\n%v", diff, r.Diagnostics)
			}
			said := ""
			for _, d := range r.Diagnostics {
				said += d.Message + "\n"
			}
			if problem.AnyError(r.Diagnostics) || !strings.Contains(said, tt.said) {
				t.Errorf("diagnostics %v, want no error, and a warning with %q", r.Diagnostics, tt.said)
			}
		})
	}
}

// There is no old entry to keep: if a conflict cannot be settled, its markers stay.
func TestConflictStaysWhereItCannotBeSettled(t *testing.T) {
	t.Parallel()
	broken := func(version string) func(provider.Want, *provider.Hashes) error {
		return func(want provider.Want, _ *provider.Hashes) error {
			if want.Version.String() == version {
				return &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Subject: problem.Subject{Addr: want.Addr}, Message: "no answer"}}
			}
			return nil
		}
	}
	one, other := []string{recordedOf("1.0.0", "linux_amd64", "windows_amd64")}, []string{recordedOf("1.1.0", "linux_amd64", "darwin_arm64")}
	tests := []struct {
		name     string
		releases []string
		edit     func(provider.Want, *provider.Hashes) error
		opts     Options
		want     problem.Code
	}{
		{"the versions are not known", nil, nil, Options{Mode: Complete}, problem.CodeUnknownProvider},
		{"a package fails", []string{"1.0.0", "1.1.0"}, broken("1.1.0"), Options{Mode: Complete}, problem.CodeUnreachable},
		{"a package of the other side fails, so that its platforms are not known", []string{"1.0.0", "1.1.0"}, broken("1.0.0"), Options{Mode: Complete}, problem.CodeUnreachable},
		{"upgrade says so", []string{"1.0.0", "1.1.0"}, nil, Options{}, problem.CodeConflict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := &offer{releases: map[string]map[string][]string{}, edit: tt.edit}
			for _, v := range tt.releases {
				if src.releases["a"] == nil {
					src.releases["a"] = map[string][]string{}
				}
				src.releases["a"][v] = six
			}
			r := Plan(t.Context(), src, modules(merged(t, []string{"a"}, nil, one, other)), tt.opts)[0]
			var codes []string
			for _, d := range r.Diagnostics {
				if d.Severity == problem.SeverityError {
					codes = append(codes, string(d.Code))
				}
			}
			if r.File != nil || !slices.Contains(codes, string(tt.want)) {
				t.Errorf("File = %q, errors %v; want none, and %s", r.File, codes, tt.want)
			}
			if tt.opts.Mode == Upgrade && fmt.Sprint(r.Diagnostics[0].Place.String()) != "root/.terraform.lock.hcl:1" {
				t.Errorf("the conflict is at %s", r.Diagnostics[0].Place.String())
			}
		})
	}
}
