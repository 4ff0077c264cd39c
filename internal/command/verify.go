package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
	"github.com/relock-dev/relock/internal/worktree"
)

// carryOutVerify runs the verb verify with the ledger, and adds to the ledger what the run
// has seen.
func carryOutVerify(ctx context.Context, env Env, m run.Means, dirs []string, e event) (report.Report, error) {
	seen, err := readLedger(ctx, env, m.Settings)
	if err != nil {
		return report.Report{}, err
	}
	r, err := judgeBy(ctx, env, m.Settings, seen, func(by run.JudgedBy) run.Ask {
		return run.ToVerify(m, env.checkout(), dirs, by, e.change)
	})
	r.FailOn = m.Settings.FailOn
	if err == nil {
		r.Diagnostics = append(r.Diagnostics, seen.write(m.Settings.Ledger)...)
	}
	return r, err
}

// judgeBy carries out an ask that judges lock files by a ledger and by the baseline that
// the settings name. Both may be missing. A head that changes one of them is reported.
func judgeBy(ctx context.Context, env Env, s settings.Settings, seen ledgerFile, askBy func(run.JudgedBy) run.Ask) (report.Report, error) {
	baseline, err := readBaseline(ctx, env, s)
	if err != nil {
		return report.Report{}, err
	}
	ask := askBy(run.JudgedBy{Ledger: seen.Ledger, Baseline: baseline.Baseline})
	r, err := during(env, ask, func(session *run.Session) (report.Report, error) { return run.Run(ctx, session, ask) })
	r.Diagnostics = append(r.Diagnostics, s.Notices...)
	for _, f := range []struct{ name, what, head string }{{s.Ledger, "ledger", seen.tampered}, {s.Baseline, "baseline", baseline.tampered}} {
		if f.head == "" {
			continue
		}
		m := report.Tampered(f.name, f.what, f.head)
		if r.Verb == verbs.Check {
			m.Verified = nil // no hash is proven
		}
		m.Findings[0].Severity = verify.SeverityOf(s.Severities, problem.CodeTamperedBoth, s.Strict)
		m.Findings, m.Accepted = baseline.Accept(m.Findings)
		r.Modules = append(r.Modules, m)
	}
	r.Diagnostics = append(r.Diagnostics, baseline.Idle()...)
	return r, err
}

type ledgerFile struct {
	*ledger.Ledger
	judged
}

func readLedger(ctx context.Context, env Env, s settings.Settings) (l ledgerFile, err error) {
	if s.Ledger == "" {
		return l, nil
	}
	l.judged, err = readJudging(ctx, env, s, judging{"ledger", s.Ledger, ledger.MaxLedger})
	if err != nil {
		return l, err
	}
	l.Ledger, err = ledger.ReadLedger(l.src, s.Ledger)
	return l, err
}

type baselineFile struct {
	*ledger.Baseline
	judged
}

// readBaseline reads the named baseline. It must exist, since a misspelt name is not an
// empty baseline. Only on the head of a pull request may the base lack it.
func readBaseline(ctx context.Context, env Env, s settings.Settings) (b baselineFile, err error) {
	if s.Baseline == "" {
		return b, nil
	}
	b.judged, err = readJudging(ctx, env, s, judging{"baseline", s.Baseline, settings.MaxBaselineSize})
	if err != nil || b.src == nil && b.path == "" {
		return b, err
	}
	if b.src == nil {
		return b, fmt.Errorf("reading the baseline %s: %w", s.Baseline, fs.ErrNotExist)
	}
	var problems []problem.Problem
	b.Baseline, problems = ledger.ReadBaseline(b.src, s.Baseline, env.Now)
	if len(problems) > 0 {
		return b, problem.Several(problems)
	}
	return b, nil
}

// judging is a file by which lock files are judged: a ledger or a baseline.
type judging struct {
	what, name string
	limit      int
}

// judged is the content of a judging that counts.
type judged struct {
	path     string // where it may be written; empty if that of a base counts
	src      []byte // nil if there is none
	tampered string // digest of what the head has in its place; empty if that is the same
}

// readJudging reads a file by which lock files are judged. For the head of a pull request
// it reads the file of the base. With the setting touched, it reads the file of that
// revision. A change must not choose what judges it, and a change of the file is a finding.
func readJudging(ctx context.Context, env Env, s settings.Settings, f judging) (judged, error) {
	path := env.path(f.name)
	here, err := readIfThere(path, f.limit)
	if err != nil {
		return judged{}, fmt.Errorf("reading the %s %s: %w", f.what, f.name, file.Cause(err))
	}
	head, _ := env.runtime().Head()
	if !head && (s.Touched == "" || file.Outside(path, []string{worktree.RootOf(env.WorkDir)})) {
		return judged{path: path, src: here}, nil
	}
	base, err := judgingOfBase(ctx, env, s, f, path)
	j := judged{src: base}
	if !bytes.Equal(here, base) {
		j.tampered = fmt.Sprintf("%x", sha256.Sum256(here))
	}
	return j, err
}

// judgingOfBase is the file on the base of the pull request, or in the revision of the
// setting touched; nil if it is missing there. It is an error if the base cannot be read.
func judgingOfBase(ctx context.Context, env Env, s settings.Settings, f judging, path string) ([]byte, error) {
	root := worktree.RootOf(env.WorkDir)
	name, err := filepath.Rel(root, path)
	name = filepath.ToSlash(name)
	if err != nil || !fs.ValidPath(name) {
		return nil, fmt.Errorf("the %s %s is not in the repository of the pull request", f.what, f.name)
	}
	names := []string{name}
	if head, _ := env.runtime().Head(); !head {
		base, known := filesOfCommit(root, s.Touched, names)
		if !known {
			return nil, fmt.Errorf("the %s %s of the revision %s could not be read; fetch it, with its files", f.what, f.name, s.Touched)
		}
		return readOfBase(base, name)
	}
	base, err := baseFiles(ctx, env, s, root, f.what+" "+f.name, names)
	if err != nil {
		return nil, err
	}
	return readOfBase(base, name)
}

// readOfBase reads a file of the base; nil if it has none.
func readOfBase(base fs.FS, name string) ([]byte, error) {
	src, err := fs.ReadFile(base, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return src, err
}

// readIfThere reads a file of bounded size; nil if it is missing.
func readIfThere(path string, limit int) ([]byte, error) {
	src, err := file.ReadAtMost(path, int64(limit)+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && len(src) > limit:
		err = fmt.Errorf("it is larger than %d bytes", limit)
	}
	return src, err
}

// write replaces the ledger if the run has seen anything new. A failure is a problem of the
// run, and does not change its result.
func (l ledgerFile) write(shown string) []problem.Problem {
	if l.Ledger == nil || l.path == "" {
		return nil
	}
	text := l.Print()
	if bytes.Equal(text, l.src) {
		return nil
	}
	was := &file.Was{Content: l.src, Missing: l.src == nil}
	if err := file.Replace(l.path, text, file.Options{Mode: 0o644, Durable: true, Was: was}); err != nil {
		return []problem.Problem{run.Unwritten("ledger", shown, err)}
	}
	return nil
}
