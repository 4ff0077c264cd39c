package outline

import (
	"slices"
	"testing"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

func TestHeadlinesSayFirstWhatFailed(t *testing.T) {
	t.Parallel()
	aws, err := provider.ParseFullAddr("registry.terraform.io/hashicorp/aws")
	if err != nil {
		t.Fatal(err)
	}
	null := aws
	null.Type = "null"
	fails := func(code problem.Code, about provider.Addr) report.Module {
		return report.Module{Diagnostics: []problem.Problem{{Code: code, Subject: problem.Subject{Addr: about}}}}
	}
	changes := func(m report.Module) report.Module {
		m.Pending, m.Changes = true, []report.Change{{Change: diff.Change{Kind: diff.Upgraded, Addr: aws}}}
		return m
	}
	same, upgraded := report.Module{}, changes(report.Module{})
	unread, unplanned := fails(problem.CodeSyntax, provider.Addr{}), fails(problem.CodeUnreachable, aws)
	unwritten, cut := changes(fails(problem.CodeUnwritable, provider.Addr{})), fails(problem.CodeCancelled, aws)
	raised := report.Module{Diagnostics: []problem.Problem{{Code: problem.CodeLockedVersion, Subject: problem.Subject{Addr: aws}, Upgradable: true}}, InUse: []report.Use{{Addr: null}}}
	unmet := fails(problem.CodeNoVersion, null)
	both := func(m, with report.Module) report.Module {
		return report.Module{Diagnostics: slices.Concat(m.Diagnostics, with.Diagnostics)}
	}
	some := unplanned
	some.InUse = []report.Use{{Addr: aws}, {Addr: null}}
	lost := fails(problem.CodeInvalidLock, aws)
	lost.InUse = some.InUse
	judged := func(m report.Module, counts verify.Counts) report.Module {
		m.Verified = &report.Verified{Counts: counts}
		return m
	}
	with := func(n int, of report.Module, more ...report.Module) []report.Module {
		return append(slices.Repeat([]report.Module{of}, n), more...)
	}
	ended := []problem.Problem{{Code: problem.CodeCancelled}}
	for _, tt := range []struct {
		want string
		r    report.Report
	}{
		{"127 of 130 root modules could not be read; in the other 3, 1 provider is upgraded.", report.Report{Verb: verbs.Upgrade, Modules: with(127, unread, with(3, upgraded)...)}},
		{"127 of 130 root modules could not be read; in the other 3, 1 provider would be upgraded.", report.Report{Verb: verbs.Check, Modules: with(127, unread, with(3, upgraded)...)}},
		{"2 of 3 root modules could not be read; in the other one, 1 provider is upgraded.", report.Report{Verb: verbs.Upgrade, Modules: with(2, unread, upgraded)}},
		{"1 of 3 root modules could not be read; 1 provider is upgraded in the lock file of 1 root module.", report.Report{Verb: verbs.Upgrade, Modules: with(1, unread, same, upgraded)}},
		{"1 of 4 root modules could not be read; every other lock file is up to date.", report.Report{Verb: verbs.Upgrade, Modules: with(3, same, unread)}},
		{"None of the 3 root modules could be read.", report.Report{Verb: verbs.Upgrade, Modules: with(3, unread)}},
		{"The root module could not be read.", report.Report{Verb: verbs.Upgrade, Modules: with(1, unread)}},
		{"The root module could not be read.", report.Report{Verb: verbs.Upgrade, Modules: with(1, lost)}},
		{"None of the 3 root modules could be planned.", report.Report{Verb: verbs.Upgrade, Modules: with(3, unplanned)}},
		{"None of the 3 root modules could be checked.", report.Report{Verb: verbs.Check, Modules: with(3, unplanned)}},
		{"The root module requires another version of a provider.", report.Report{Verb: verbs.Check, Modules: with(1, raised)}},
		{"All 2 root modules require other versions of providers.", report.Report{Verb: verbs.Lock, Modules: with(2, raised)}},
		{"2 of 4 root modules require other versions of providers and 1 could not be checked; every other lock file is up to date.",
			report.Report{Verb: verbs.Check, Modules: with(2, raised, unplanned, same)}},
		{"The root module requires a provider release that it cannot get.", report.Report{Verb: verbs.Check, Modules: with(1, unmet)}},
		{"All 2 root modules require provider releases that they cannot get.", report.Report{Verb: verbs.Upgrade, Modules: with(2, unmet)}},
		{"1 of 3 root modules requires another version of a provider, 1 requires a provider release that it cannot get and 1 could not be checked.",
			report.Report{Verb: verbs.Check, Modules: []report.Module{raised, unmet, unplanned}}},
		{"The root module requires a provider release that it cannot get.", report.Report{Verb: verbs.Check, Modules: []report.Module{both(raised, unmet)}}},
		{"The root module could not be checked.", report.Report{Verb: verbs.Check, Modules: []report.Module{both(unplanned, unmet)}}},
		{"All 3 root modules failed in part.", report.Report{Verb: verbs.Upgrade, Modules: with(3, some)}},
		{"All 2 root modules failed in part; 1 provider is upgraded in the lock files of 2 root modules.", report.Report{Verb: verbs.Upgrade, Modules: with(2, changes(some))}},
		{"The root module failed in part; 1 provider is upgraded in the lock file of 1 root module.", report.Report{Verb: verbs.Upgrade, Modules: with(1, changes(unplanned))}},
		{"3 of 8 root modules could not be read, 2 could not be planned and 1 could not be written; 1 provider is upgraded in the lock files of 3 root modules.",
			report.Report{Verb: verbs.Upgrade, Modules: with(3, unread, append(with(2, unplanned), unwritten, upgraded, upgraded)...)}},
		{"2 of 4 root modules were not finished; in the other 2, 1 provider is upgraded.", report.Report{Verb: verbs.Upgrade, Modules: with(2, cut, upgraded, upgraded), Diagnostics: ended}},
		{"1 of 2 root modules was not finished; every other lock file is up to date.", report.Report{Verb: verbs.Upgrade, Modules: with(1, cut, same), Diagnostics: ended}},
		{"The run ended before it was done; 1 provider is upgraded in the lock file of 1 root module.", report.Report{Verb: verbs.Upgrade, Modules: with(1, upgraded, same), Diagnostics: ended}},
		{"The run ended before it was done; nothing is changed.", report.Report{Verb: verbs.Upgrade, Modules: with(2, same), Diagnostics: ended}},
		{"The run ended before its root modules were known.", report.Report{Verb: verbs.Upgrade, Diagnostics: ended}},
		{"Nothing is changed, because of errors.", report.Report{Verb: verbs.Upgrade, Modules: with(2, same), Diagnostics: []problem.Problem{{Code: problem.CodeCLIConfig}}}},
		{"1 of 2 root modules could not be checked. 3 hashes: 3 in signed lists; 0 unproven.",
			report.Report{Verb: verbs.Verify, Modules: []report.Module{judged(same, verify.Counts{verify.ByList: 3}), unread}}},
		{"1 of 2 root modules could not be checked. 5 hashes: 3 in signed lists; 2 unproven.",
			report.Report{Verb: verbs.Verify, Modules: []report.Module{judged(same, verify.Counts{verify.ByList: 3}), judged(same, verify.Counts{verify.Unproven: 2})}}},
		{"1 of 2 root modules failed in part. 3 hashes: 3 in signed lists; 0 unproven.",
			report.Report{Verb: verbs.Verify, Modules: []report.Module{judged(same, verify.Counts{verify.ByList: 2}), judged(unread, verify.Counts{verify.ByList: 1})}}},
		{"None of the 2 root modules could be checked.", report.Report{Verb: verbs.Verify, Modules: with(2, unread)}},
		{"1 provider is upgraded in the lock files of 2 root modules.", report.Report{Verb: verbs.Upgrade, Modules: with(2, upgraded, same)}},
		{"Every lock file is up to date.", report.Report{Verb: verbs.Upgrade, Modules: with(2, same)}},
	} {
		if got := Of(tt.r).Headline.Plain(); got != tt.want {
			t.Errorf("the headline is %q, want %q", got, tt.want)
		}
	}
}
