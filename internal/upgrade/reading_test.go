package upgrade

import (
	"context"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// shelf is a Rereader over a table: for each version constraint, the module's term about
// the provider a. "unread" is a module that cannot be read, "gone" a root module that
// cannot be read, "invalid" one with an error.
type shelf struct {
	t      *testing.T
	holds  map[string]string
	latest string // the newest release of a module that no registry lists
	err    error
	asked  []string
}

func (s *shelf) Latest(_ context.Context, _ provider.Tool, call scan.Call) (scan.Call, string, error) {
	if s.latest != "" && s.latest != "v1.1.0" {
		call.Source += "?ref=" + s.latest
	}
	return call, s.latest, s.err
}

func (s *shelf) Reread(_ context.Context, modules []scan.RootModule, _ ToolCall, call scan.Call) []scan.RootModule {
	var again []scan.RootModule
	for _, m := range modules {
		s.asked = append(s.asked, call.Source+" "+call.Version)
		now := module(s.t, nil, nil)
		now.Tree.Fetched = m.Tree.Fetched
		text := s.holds[strings.TrimPrefix(call.Version, "= ")]
		switch text {
		case "unread":
			now.Tree.Unread = []scan.Unread{{Module: "vpc.sub", Reason: "it is away"}}
			required(s.t, &now, "", ">= 1", "main.tf")
		case "invalid":
			now.Tree.Diagnostics = []problem.Problem{{Severity: problem.SeverityError, Message: "it is not valid"}}
		case "gone":
			now.Dir = ""
		default:
			required(s.t, &now, "vpc", text, "acme/vpc/aws//main.tf")
		}
		again = append(again, now)
	}
	return again
}

// TestExamineSaysWhatItRead reads the first candidate. If that does not help, it reads the
// newest release, and no third one.
func TestExamineSaysWhatItRead(t *testing.T) {
	t.Parallel()
	listed := releasesOfModule(t, "1.1.0 . hashicorp/a ~> 1.0", "1.2.0 . hashicorp/a >= 1", "1.3.0 . hashicorp/a >= 1", "1.4.0 . hashicorp/a >= 1")
	silent := releasesOfModule(t, "1.1.0", "1.2.0", "1.4.0")
	for name, tt := range map[string]struct {
		versions *scan.ModuleVersions
		shelf    shelf
		want     string
		asked    string
	}{
		"it helps":             {listed, shelf{holds: map[string]string{"1.2.0": ">= 1"}}, "2.5.0: read ~> 1.0 in vpc 1.1.0 -> 1.2.0", "acme/vpc/aws = 1.2.0"},
		"the newest does":      {listed, shelf{holds: map[string]string{"1.2.0": "< 2", "1.4.0": ">= 2"}}, "2.5.0: read ~> 1.0 in vpc 1.1.0 -> 1.4.0", "acme/vpc/aws = 1.2.0, acme/vpc/aws = 1.4.0"},
		"neither does":         {listed, shelf{holds: map[string]string{"1.2.0": "< 2", "1.4.0": "< 2"}}, "2.5.0: refuted ~> 1.0 in vpc 1.1.0 -> 1.4.0", "acme/vpc/aws = 1.2.0, acme/vpc/aws = 1.4.0"},
		"a silent list":        {silent, shelf{holds: map[string]string{"1.4.0": ">= 1"}}, "2.5.0: read ~> 1.0 in vpc 1.1.0 -> 1.4.0", "acme/vpc/aws = 1.4.0"},
		"it cannot be read":    {listed, shelf{holds: map[string]string{"1.2.0": "unread", "1.4.0": "unread"}}, "2.5.0: unread ~> 1.0 in vpc 1.1.0 -> 1.4.0", "acme/vpc/aws = 1.2.0, acme/vpc/aws = 1.4.0"},
		"it is not valid":      {listed, shelf{holds: map[string]string{"1.2.0": "invalid", "1.4.0": ">= 1"}}, "2.5.0: read ~> 1.0 in vpc 1.1.0 -> 1.4.0", "acme/vpc/aws = 1.2.0, acme/vpc/aws = 1.4.0"},
		"nothing can be read":  {listed, shelf{holds: map[string]string{"1.2.0": "gone", "1.4.0": "gone"}}, "2.5.0: unread ~> 1.0 in vpc 1.1.0 -> 1.4.0", "acme/vpc/aws = 1.2.0, acme/vpc/aws = 1.4.0"},
		"not listed":           {releasesOfModule(t, "1.0.0", "1.2.0"), shelf{}, "2.5.0: unread ~> 1.0 in vpc 1.1.0", ""},
		"a newer tag":          {nil, shelf{latest: "v2.0.0", holds: map[string]string{"~> 1.1.0": ">= 1"}}, "2.5.0: read ~> 1.0 in vpc 1.1.0 -> v2.0.0", "acme/vpc/aws?ref=v2.0.0 ~> 1.1.0"},
		"the newest tag":       {nil, shelf{latest: "v1.1.0"}, "2.5.0: none ~> 1.0 in vpc 1.1.0", ""},
		"tags are not known":   {nil, shelf{}, "2.5.0: unread ~> 1.0 in vpc 1.1.0", ""},
		"tags cannot be asked": {nil, shelf{err: &problem.Error{Problem: problem.Problem{Message: "no answer"}}}, "2.5.0: unread ~> 1.0 in vpc 1.1.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := module(t, nil, nil)
			required(t, &m, "vpc", "~> 1.0", "acme/vpc/aws//main.tf")
			m.Tree.Fetched = []scan.Fetched{{
				Module: "vpc", Place: problem.Place{Path: "main.tf", Line: 12}, Source: "acme/vpc/aws", Version: "1.1.0", Dir: ".", Versions: tt.versions,
				Call: scan.Call{Source: "acme/vpc/aws", Version: "~> 1.1.0", Versioned: true},
			}}
			tt.shelf.t = t
			src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": two, "1.1.0": two, "2.5.0": two}}}
			got := Examine(t.Context(), src, []scan.RootModule{m}, Options{}, &tt.shelf)[0].Selections[0]
			if said := helpText(got.Held[0].Help); said != tt.want || strings.Join(tt.shelf.asked, ", ") != tt.asked {
				t.Errorf("the advice is %q after reading %q, want %q after %q", said, tt.shelf.asked, tt.want, tt.asked)
			}
			if len(src.asked) != 1 {
				t.Errorf("%q was asked, want the versions alone", src.asked)
			}
		})
	}
}
