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

// mendingOf says which command makes lock files pass a check of what verb writes, with the
// flags that only this run was given.
func mendingOf(ctx context.Context, env Env, s settings.Settings, verb verbs.Verb, r report.Report, e event) report.Mending {
	verb = r.MendingVerb(verb)
	m := report.Mending{Verb: verb, Flags: settings.GivenFlags(s.Values, verb)}
	if len(r.Modules) > 0 && env.runtime().Enabled() { // a contributor has no workspace around the checkout
		m.Top = topBelow(env, r.Modules[0].Names.Root)
	}
	m.Comments = e.pull && r.Fails() && r.Touched && env.head() == run.OwnHead && commentsAnswered(ctx, env, s)
	return m
}

// topBelow is the path of a checkout below the working directory, relative to that; empty
// if it is elsewhere.
func topBelow(env Env, root string) string {
	name, err := filepath.Rel(env.WorkDir, root)
	if root == "" || err != nil || name == "." || !filepath.IsLocal(name) {
		return ""
	}
	return filepath.ToSlash(name)
}

// These bound the search for a workflow that answers comments.
const (
	workflowsDir    = ".github/workflows"
	largestWorkflow = 1 << 20
	mostWorkflows   = 10
)

// commentsAnswered reports whether a workflow of the base answers commands in comments. The
// base is read only if the head has files that may be such a workflow.
func commentsAnswered(ctx context.Context, env Env, s settings.Settings) bool {
	root := worktree.RootOf(env.WorkDir)
	names := workflowsIn(root, answersComments)
	names = names[:min(len(names), mostWorkflows)]
	if len(names) == 0 || env.runtime().Base() == "" {
		return false
	}
	base, err := baseFiles(ctx, env, s, root, "workflow", names)
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

// workflowsIn are the names of the workflows of a repository on disk that match. It skips
// those that it cannot read.
func workflowsIn(root string, match func(text []byte) bool) []string {
	var names []string
	entries, _ := os.ReadDir(filepath.Join(root, filepath.FromSlash(workflowsDir))) // none, if there is an error
	for _, e := range entries {
		name := path.Join(workflowsDir, e.Name())
		if ext := path.Ext(name); ext != ".yml" && ext != ".yaml" {
			continue
		}
		text, err := file.ReadAtMost(filepath.Join(root, filepath.FromSlash(name)), largestWorkflow)
		if err == nil && match(text) {
			names = append(names, name)
		}
	}
	return names
}

// answersComments reports whether a workflow seems to run relock on comments. It only
// searches for words.
func answersComments(workflow []byte) bool {
	event, program := false, false
	for line := range strings.Lines(string(workflow)) {
		line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " #")
		event = event || strings.Contains(line, "issue_comment")
		program = program || strings.Contains(line, "relock")
	}
	return event && program
}
