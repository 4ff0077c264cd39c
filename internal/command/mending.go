package command

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree"
)

// mendingOf says by which verb the lock files become what a check wants, with the flags for
// what only this run was given.
func mendingOf(ctx context.Context, env Env, s settings.Settings, verb verbs.Verb, r report.Report, e event) report.Mending {
	m := report.Mending{Verb: verb, Flags: settings.GivenFlags(s.Values, verb)}
	if len(r.Modules) > 0 && env.runtime().Enabled() { // a contributor has no workspace around the checkout
		m.Top = topBelow(env, r.Modules[0].Names.Root)
	}
	m.Comments = e.pull && r.Fails() && r.Touched && env.head() == run.OwnHead && commentsAnswered(ctx, env, s)
	return m
}

// topBelow is the name of a checkout that is below the working directory; else nothing.
func topBelow(env Env, root string) string {
	name, err := filepath.Rel(env.WorkDir, root)
	if root == "" || err != nil || name == "." || !filepath.IsLocal(name) {
		return ""
	}
	return filepath.ToSlash(name)
}

// The bounds of what is read to know whether comments are answered.
const (
	workflowsDir    = ".github/workflows"
	largestWorkflow = 1 << 20
	mostWorkflows   = 10
)

// commentsAnswered reports whether a workflow of the base answers commands in comments. The
// head says which files may be such a workflow, and the base what is in them: so the base
// is asked only where there may be one.
func commentsAnswered(ctx context.Context, env Env, s settings.Settings) bool {
	root := worktree.RootOf(env.WorkDir)
	entries, _ := os.ReadDir(filepath.Join(root, filepath.FromSlash(workflowsDir))) // none, if there is an error
	var names []string
	for _, e := range entries {
		name := path.Join(workflowsDir, e.Name())
		if ext := path.Ext(name); ext != ".yml" && ext != ".yaml" || len(names) == mostWorkflows {
			continue
		}
		text, err := file.ReadAtMost(filepath.Join(root, filepath.FromSlash(name)), largestWorkflow)
		if err == nil && answersComments(text) {
			names = append(names, name)
		}
	}
	if len(names) == 0 || env.runtime().Base() == "" {
		return false
	}
	base, err := baseFiles(ctx, env, s, root, names)
	if err != nil {
		return false // the command line is enough
	}
	for _, name := range names {
		text, err := fs.ReadFile(base, name)
		if err == nil && answersComments(text) {
			return true
		}
	}
	return false
}

// answersComments reports whether a workflow runs relock on comments, as far as its words
// say so.
func answersComments(workflow []byte) bool {
	event, program := false, false
	for line := range strings.Lines(string(workflow)) {
		line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " #")
		event = event || strings.Contains(line, "issue_comment")
		program = program || strings.Contains(line, "relock")
	}
	return event && program
}
