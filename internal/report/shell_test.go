package report_test

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// The same command makes the changes of a pull request on another machine: for
// the same providers and platforms.
func TestTheSameElsewhereIsForTheSameProviders(t *testing.T) {
	t.Parallel()
	change := func(name string) report.Change {
		addr, err := provider.ParseAddr(name, provider.Terraform)
		if err != nil {
			t.Fatal(err)
		}
		return report.Change{Change: diff.Change{Addr: addr, Kind: diff.Upgraded}}
	}
	pattern, err := provider.ParsePattern("hashicorp/*")
	if err != nil {
		t.Fatal(err)
	}
	aws, null := change("hashicorp/aws"), change("hashicorp/null")
	whole := report.Report{Verb: verbs.PR, Modules: []report.Module{{Dir: "prod", Pending: true, Changes: []report.Change{aws, null}}}}
	part := []report.Module{{Dir: "prod", Pending: true, Changes: []report.Change{aws}}}
	restricted := whole
	restricted.Asked = report.Asked{Providers: []provider.Pattern{pattern}, Platforms: []provider.Platform{{OS: "linux", Arch: "amd64"}}}
	for name, tt := range map[string]struct {
		r    report.Report
		want string
	}{
		"the whole":           {whole, "relock upgrade prod"},
		"the whole as a part": {whole.About(whole.Modules), "relock upgrade prod"},
		"a part":              {whole.About(part), "relock upgrade --provider registry.terraform.io/hashicorp/aws prod"},
		"restricted":          {restricted, "relock upgrade --provider 'hashicorp/*' --platform linux_amd64 prod"},
		"a part of that":      {restricted.About(part), "relock upgrade --provider registry.terraform.io/hashicorp/aws --platform linux_amd64 prod"},
	} {
		if body := render.Body(tt.r).String(); !strings.Contains(body, "```sh\n"+tt.want+"\n```\n") {
			t.Errorf("%s: the body ends in\n%s\nwant %s", name, body[strings.LastIndex(body, "```sh"):], tt.want)
		}
	}
}

// The command of a check can be copied as it is: what cannot be is not in it.
func TestMendingCommand(t *testing.T) {
	t.Parallel()
	m := report.Mending{Verb: verbs.Lock, Flags: []settings.GivenFlag{{Name: "provider", Value: "*/aws"}, {Name: "strict"}}}
	for name, tt := range map[string]struct {
		mending report.Mending
		dirs    []string
		want    string
	}{
		"nothing is known":        {report.Mending{}, []string{"a"}, ""},
		"flags":                   {m, []string{"a"}, "relock lock --provider '*/aws' --strict a"},
		"five":                    {report.Mending{Verb: verbs.Upgrade}, []string{"a", "b", "c", "d", "e"}, "relock upgrade a b c d e"},
		"six":                     {report.Mending{Verb: verbs.Upgrade}, []string{"a", "b", "c", "d", "e", "f"}, "relock upgrade"},
		"a word of a shell":       {report.Mending{Verb: verbs.Lock}, []string{"it's $(id)", "-x"}, `relock lock 'it'\''s $(id)' ./-x`},
		"a name that shows wrong": {report.Mending{Verb: verbs.Lock}, []string{"a\x1bb"}, "relock lock"},
		"a checkout below":        {report.Mending{Verb: verbs.Lock, Top: "infra"}, []string{"infra", "infra/live"}, "relock lock . live"},
		"another checkout beside": {report.Mending{Verb: verbs.Lock, Top: "infra"}, []string{"infra/live", "other"}, "relock lock"},
		"long names":              {report.Mending{Verb: verbs.Lock}, []string{strings.Repeat("a", 300)}, "relock lock"},
	} {
		if got := tt.mending.Command(tt.dirs); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	for _, tt := range []struct {
		mending report.Mending
		want    string
	}{
		{report.Mending{Verb: verbs.Lock}, ""},
		{report.Mending{Verb: verbs.Lock, Comments: true}, "/relock lock"},
		{report.Mending{Verb: verbs.Upgrade, Comments: true, Directories: []string{"live", "a b"}}, "/relock upgrade live 'a b'"},
		{report.Mending{Verb: verbs.Upgrade, Comments: true, Flags: []settings.GivenFlag{{Name: "platform", Value: "linux_amd64"}}}, "/relock upgrade --platform linux_amd64"},
		{report.Mending{Verb: verbs.Lock, Comments: true, Flags: []settings.GivenFlag{{Name: "strict"}}}, ""},
	} {
		if got := tt.mending.Comment(); got != tt.want {
			t.Errorf("the comment of %v is %q, want %q", tt.mending, got, tt.want)
		}
	}
}

func TestMendingVerb(t *testing.T) {
	t.Parallel()
	moves := problem.Problem{Code: problem.CodeLockedVersion, Upgradable: true}
	before := moves
	before.Severity = problem.SeverityWarning
	pending := report.Module{Pending: true}
	of := func(p problem.Problem) report.Module { return report.Module{Diagnostics: []problem.Problem{p}} }
	for name, tt := range map[string]struct {
		modules []report.Module
		want    verbs.Verb
	}{
		"hashes lack":                  {[]report.Module{pending}, verbs.Lock},
		"a version must move":          {[]report.Module{of(moves)}, verbs.Upgrade},
		"both":                         {[]report.Module{pending, of(moves)}, verbs.Upgrade},
		"it had to on the base":        {[]report.Module{pending, of(before)}, verbs.Lock},
		"another problem of a version": {[]report.Module{pending, of(problem.Problem{Code: problem.CodeLockedVersion})}, verbs.Lock},
	} {
		if got := (report.Report{Modules: tt.modules}).MendingVerb(verbs.Lock); got != tt.want {
			t.Errorf("%s: relock %s, want %s", name, got, tt.want)
		}
	}
}
