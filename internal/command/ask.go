package command

import (
	"cmp"
	"context"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// meansOf are the settings of an ask, their sources, and the texts that it writes. The text
// of a pull request ends with the footer.
func (env Env) meansOf(from settings.Sources, s settings.Settings, footer safe.Markdown) run.Means {
	body := func(r report.Report) safe.Markdown {
		r.Footer = footer
		return render.Body(r)
	}
	m := run.Means{Settings: s, Of: from.In, Body: body, Dashboard: render.Glance, Overview: render.Overview, Ticked: env.ticked, Head: env.head()}
	if strings.EqualFold(env.runtime().Repository(), s.Dashboard.Repository) {
		m.Written = writtenBy(env.runtime().RunURL())
	}
	return m
}

// head says whether the checkout is the head of a pull request, and whether that is from a
// fork.
func (env Env) head() run.Head {
	head, fork := env.runtime().Head()
	if fork {
		return run.ForkHead
	}
	if head {
		return run.OwnHead
	}
	return run.NoHead
}

// checkout is what the runner says of the files on disk.
func (env Env) checkout() run.Checkout {
	rt := env.runtime()
	return run.Checkout{Repository: rt.Repository(), DefaultBranch: rt.DefaultBranch(), Branch: rt.Branch(), Commit: rt.SHA()}
}

// event is what the event of a workflow says of a check. On the command line it is the zero
// value.
type event struct {
	change *run.Change
	check  string // the usual value of the setting check
	pull   bool   // the change is that of a pull request
}

// asksOnDisk make the asks of the verbs that need no more than directories.
var asksOnDisk = map[verbs.Verb]func(run.Means, run.Checkout, []string) run.Ask{
	verbs.Scan: run.ToScan, verbs.Why: run.ToExplain, verbs.Upgrade: run.ToUpgrade, verbs.Lock: run.ToLock,
}

// carryOutCheck runs the verb check. The settings say whether newer versions count, or only
// complete hashes. A change, or the setting touched, limits the check.
func carryOutCheck(ctx context.Context, env Env, m run.Means, dirs []string, e event) (report.Report, error) {
	s, mode, verb := m.Settings, upgrade.Upgrade, verbs.Upgrade
	if s.Lock || cmp.Or(s.Check, e.check) == "lock" {
		mode, verb = upgrade.Complete, verbs.Lock
	}
	if s.Touched != "" {
		e.change = &run.Change{Revision: s.Touched}
	}
	r, err := judgeBy(ctx, env, s, ledgerFile{}, func(by run.JudgedBy) run.Ask {
		return run.ToCheck(m, env.checkout(), dirs, by, mode, e.change)
	})
	if s.Touched != "" && problem.Coded(err, problem.CodeUnreadable) { // an unreadable history counts as an unreadable file
		r.Diagnostics, err = append(r.Diagnostics, problem.Of(err)), nil
	}
	r.Mending = mendingOf(ctx, env, s, verb, r, e)
	return r, err
}

// footer is the end of a pull request's text. It links to the commands for comments.
var footer = safe.Const("[Commands in comments](https://github.com/relock-dev/relock/blob/main/docs/comments.md) are for people who may write to this " +
	"repository, if a workflow runs on its comments. `/relock help` lists them.\n")
