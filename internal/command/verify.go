package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/verify"
)

// carryOutVerify verifies, by what the ledger has seen, and adds to it.
func carryOutVerify(ctx context.Context, env Env, s settings, req run.Request) (report.Report, error) {
	ledger, err := readLedger(ctx, env, s)
	if err != nil {
		return report.Report{}, err
	}
	req.Proof.Ledger = ledger.Ledger
	r, err := during(env, s, req, func(session *run.Session) (report.Report, error) { return session.Do(ctx, req) })
	r.Diagnostics, r.FailOn = append(r.Diagnostics, s.notices...), s.FailOn
	if ledger.tampered {
		r.Modules = append(r.Modules, tamperedModule(s.Ledger))
	}
	if err == nil {
		err = ledger.write()
	}
	return r, err
}

// ledgerFile is the ledger of a run.
type ledgerFile struct {
	*verify.Ledger
	path     string // where it is written; empty on a pull request's head
	before   []byte
	tampered bool // the head has another one than the base
}

// readLedger reads the ledger that is named. A pull request's head is judged by its
// base's, since otherwise it could change what it is judged by; that it does is a
// finding.
func readLedger(ctx context.Context, env Env, s settings) (ledgerFile, error) {
	if s.Ledger == "" {
		return ledgerFile{}, nil
	}
	path := env.path(s.Ledger)
	here, err := readIfThere(path)
	if err != nil {
		return ledgerFile{}, fmt.Errorf("reading the ledger %s: %w", s.Ledger, cause(err))
	}
	l := ledgerFile{path: path, before: here}
	if head, _ := env.runtime().Head(); head {
		l.path = ""
		if l.before, err = ledgerOfBase(ctx, env, s, path); err != nil {
			return l, err
		}
		l.tampered = !bytes.Equal(here, l.before)
	}
	l.Ledger, err = verify.ReadLedger(l.before, s.Ledger)
	return l, err
}

// ledgerOfBase is the ledger that the base of the pull request has at hand; empty
// where it has none. Without the base nothing can be judged.
func ledgerOfBase(ctx context.Context, env Env, s settings, path string) ([]byte, error) {
	root := run.RepositoryOf(env.WorkDir)
	name, err := filepath.Rel(root, path)
	name = filepath.ToSlash(name)
	if err != nil || !fs.ValidPath(name) {
		return nil, fmt.Errorf("the ledger %s is not in the repository whose pull request is verified", s.Ledger)
	}
	base, err := baseFiles(ctx, env, s, root, []string{name})
	if err != nil {
		return nil, err
	}
	if base == nil {
		return nil, &provider.Error{
			Code:    provider.CodeSettings,
			Message: fmt.Sprintf("the ledger %s is not read: that of a pull request's head decides nothing, and its base is not here", s.Ledger),
			Hint:    baseUnknown.Hint,
		}
	}
	src, err := fs.ReadFile(base, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return src, err
}

// readIfThere reads a file of bounded size; nothing if there is none.
func readIfThere(path string) ([]byte, error) {
	f, err := file.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, verify.MaxLedger+1))
	if err == nil && len(src) > verify.MaxLedger {
		err = fmt.Errorf("it is larger than %d bytes", verify.MaxLedger)
	}
	return src, err
}

// write replaces the file, if the run has seen anything new.
func (l ledgerFile) write() error {
	if l.Ledger == nil || l.path == "" {
		return nil
	}
	text := l.Print()
	if bytes.Equal(text, l.before) {
		return nil
	}
	if err := file.Replace(l.path, text, file.Options{Mode: os.FileMode(0o644)}); err != nil {
		return fmt.Errorf("writing the ledger: %w", cause(err))
	}
	return nil
}

// tamperedModule reports that a pull request changes the file that it is judged by.
func tamperedModule(name string) report.Module {
	rule, _ := verify.RuleOf(provider.CodeTamperedBoth)
	return report.Module{Dir: ".", Verified: &report.Verified{Counts: verify.Counts{}}, Findings: []provider.Finding{{
		Code: provider.CodeTamperedBoth, Severity: rule.Severity, File: name, Line: 1, Hint: rule.Help,
		Message: "this pull request changes the ledger, and is judged by the base's",
	}}}
}
