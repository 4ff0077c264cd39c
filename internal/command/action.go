package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/box"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// reportFile is the name of the Action's JSON report. It is in the runner's temporary
// directory, if this container sees one. Unlike the workspace, that has no files of a
// repository.
const reportFile = "relock-report.json"

// These are the names of the same report as a page, and as results for code scanning.
const (
	pageFile  = "relock-report.html"
	sarifFile = "relock-report.sarif"
)

func actionCommand(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "action",
		Short: "Run as a step of a GitHub workflow",
		Long: `action is what action.yml runs: it picks the verb from the event, reads the
inputs, and sets outputs, the step summary and annotations.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAction(cmd.Context(), env) },
	}
}

func runAction(ctx context.Context, env Env) error {
	rt := env.runtime()
	if !rt.Enabled() {
		return errors.New("action runs as a step of a GitHub workflow; here, use one of the other verbs")
	}
	// From here on, printed text may come from outside. A runner would find workflow
	// commands in it.
	env.Stdout, env.Stderr, env.mask = rt.Stdout(), action.Inert(env.Stderr), rt.Mask
	env.Color, env.Width = false, 0 // the log of a workflow
	env.summary = true
	if dir := rt.Workspace(); dir != "" {
		env.WorkDir = dir
	}
	inputs, err := inputsOf(env, rt)
	if err == nil {
		if how, check, asked := getting(settings.Merge(inputs...).Text("command")); asked {
			return getInStep(ctx, env, rt, inputs, how, check)
		}
	}
	var r report.Report
	var cfg settings.Settings
	if err == nil {
		r, cfg, err = step(ctx, env, rt, inputs)
	}
	if err != nil {
		return said(ctx, env, errors.Join(err, annotateError(rt, err)))
	}
	if err := errors.Join(show(env, r, cfg), tell(rt, r, cmp.Or(rt.Temp(), env.WorkDir), sarifOptions(env, cfg))); err != nil {
		return said(ctx, env, err)
	}
	return status(r)
}

// said prints an error so that runners find no commands in it, and returns an exit status
// instead. It returns the error of an interrupted run as it is.
func said(ctx context.Context, env Env, err error) error {
	if err == nil || ctx.Err() != nil && (errors.Is(err, context.Canceled) || problem.Coded(err, problem.CodeCancelled)) {
		return err // that the run was interrupted is said once
	}
	complain(env.Stderr, err)
	return exit(ExitUsage)
}

// inputsOf are the inputs of a step, those of its event first. The error is about an event that
// relock has nothing to do with, or about inputs that the event may not give.
func inputsOf(env Env, rt *action.Runtime) ([]settings.Values, error) {
	err := cmp.Or(action.RefusedEvent(rt.Event()), settings.CheckDispatch(rt.Inputs()))
	return []settings.Values{settings.Dispatch(rt.Inputs()), settings.Inputs(env.Getenv)}, err
}

// step does what the event and the inputs ask for.
func step(ctx context.Context, env Env, rt *action.Runtime, inputs []settings.Values) (report.Report, settings.Settings, error) {
	comments := commented(settings.Merge(inputs...), rt)
	from, s, err := settingsOfRun(ctx, env, likelyVerb(settings.Merge(inputs...), rt), inputs...)
	if err == nil {
		err = mask(rt, s)
	}
	if err != nil {
		return report.Report{}, s, err
	}
	if comments {
		r, err := answer(ctx, env, from, s)
		return r, s, err
	}
	verb, err := verbOf(s.Command, rt)
	if err != nil {
		return report.Report{}, s, err
	}
	if rt.Event() == action.Issues {
		edit, boxes, err := checkedBoxes(rt)
		if err != nil || len(boxes) == 0 {
			return untouched(edit), s, err
		}
		env.ticked = run.Ticked{Issue: edit.Number, By: edit.By, Boxes: boxes}
		if edit.Opener.Bot {
			env.ticked.Opener = edit.Opener.Login
		}
	}
	e := event{check: "lock", pull: rt.Event() == "pull_request"}
	if verb == verbs.Check || verb == verbs.Verify {
		e.change, err = changeOf(ctx, env, s)
		if err != nil {
			return report.Report{}, s, err
		}
	}
	r, err := carryOut(ctx, env, from, s, verb, s.Directories, e)
	return r, s, err
}

// checkedBoxes returns the edit of an issue that the event is about, and the boxes that a
// person checked with it. An edit by a bot or of a pull request checks none. The error is
// about a payload of another form or another repository.
func checkedBoxes(rt *action.Runtime) (github.IssueEdit, []box.Box, error) {
	payload, err := rt.Payload()
	if err != nil {
		return github.IssueEdit{}, nil, err
	}
	edit, err := github.ParseIssueEdit(payload)
	if err != nil || !edit.Edited || edit.OnPull || edit.Bot {
		return edit, nil, err
	}
	if !strings.EqualFold(edit.Repository, rt.Repository()) {
		return edit, nil, errors.New("the event is about another repository than GITHUB_REPOSITORY names")
	}
	return edit, box.Newly(edit.Before, edit.Body), nil
}

// untouched is the report of an edit that checks no box.
func untouched(edit github.IssueEdit) report.Report {
	return report.Report{Verb: verbs.PR, Idle: true, Dashboards: []report.Dashboard{{
		Operation: "none", Repository: edit.Repository, Number: edit.Number, Reason: "no person has checked a box of relock's",
	}}}
}

// likelyVerb is the verb of a step. It is empty if the inputs name none, or if they are
// refused.
func likelyVerb(inputs settings.Values, rt *action.Runtime) verbs.Verb {
	if commented(inputs, rt) {
		return verbs.Comment
	}
	command := inputs["command"]
	verb, err := verbOf(inputs.Text("command"), rt)
	if _, problems := settings.Resolve(settings.Values{"command": command}); err != nil || len(problems) > 0 {
		return ""
	}
	return verb
}

// commented reports whether the step answers a comment. It is asked first, since the files
// of the checkout then have no effect.
func commented(inputs settings.Values, rt *action.Runtime) bool {
	command := inputs.Text("command")
	return verbs.Verb(command) == verbs.Comment || command == "auto" && rt.Event() == "issue_comment"
}

// mask keeps the secrets of the settings out of the log.
func mask(rt *action.Runtime, cfg settings.Settings) error {
	return errors.Join(rt.Mask(cfg.Token), rt.Mask(cfg.ModuleToken), rt.Mask(cfg.App.Key))
}

// verbOf is the verb that the workflow asks for, otherwise the verb for the event. verify
// needs an event that says whose files it reads: the head of a pull request must not
// choose.
func verbOf(command string, rt *action.Runtime) (verbs.Verb, error) {
	given := verbs.Verb(command)
	if command != "auto" && given != verbs.Verify {
		return given, nil
	}
	verb, err := action.Verb(rt.Event())
	if command != "auto" {
		verb = given
	}
	return verb, err
}

// tell passes the report to the runner: as files, outputs, a summary and annotations. In
// the workspace, a pull request may have put a link at the path of a file. The link is
// replaced.
func tell(rt *action.Runtime, r report.Report, dir string, o render.SARIFOptions) error {
	text, doc, err := keep(dir, reportFile, func(w io.Writer) error { return report.JSON(w, r) })
	if err != nil {
		return err
	}
	_, page, err := keep(dir, pageFile, func(w io.Writer) error { return render.HTML(w, r) })
	if err != nil {
		return err
	}
	var errs []error
	values := outputs(r, text)
	for _, name := range []string{"directories", "pull-requests"} {
		if r.Fleet != nil && len(values[name]) > largestArray {
			values[name] = "[]" // the report has them
		}
	}
	values["report"], values["page"] = rt.Outside(doc), rt.Outside(page)
	if r.Verb == verbs.Check || r.Verb == verbs.Verify {
		_, results, err := keep(dir, sarifFile, func(w io.Writer) error { return render.SARIF(w, r, o) })
		if err != nil {
			return err
		}
		values["sarif"] = rt.Outside(results)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		errs = append(errs, rt.SetOutput(name, values[name]))
	}
	errs = append(errs, rt.AddSummary(render.Summary(r), safe.Const("\n> The rest is left out: a step summary may have no more than 1 MiB.\n")))
	for _, a := range annotations(r) {
		errs = append(errs, rt.Annotate(a))
	}
	return errors.Join(errs...)
}

// keep writes one form of a report to a file in a directory, and returns the text and the
// path.
func keep(dir, name string, form func(io.Writer) error) (text []byte, path string, err error) {
	var b bytes.Buffer
	if err := form(&b); err != nil {
		return nil, "", err
	}
	path = filepath.Join(dir, name)
	if err := file.Replace(path, b.Bytes(), file.Options{Mode: 0o644, Parents: 0o755}); err != nil {
		return nil, "", fmt.Errorf("writing the report %s: %w", name, file.Cause(err))
	}
	return b.Bytes(), path, nil
}

// mostAnnotations is how many annotations of each level GitHub shows for a step:
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
const mostAnnotations = 10

// annotations are the annotations of a report, the worst first. If a level has too many,
// its last one counts the rest. The summary has them all.
func annotations(r report.Report) []action.Annotation {
	var by [3][]action.Annotation
	for _, d := range diagnosticsOf(r) {
		by[d.Severity] = append(by[d.Severity], annotation(d))
	}
	for _, s := range outline.StaleLocks(r) {
		by[s.Severity] = append(by[s.Severity], staleAnnotation(s))
	}
	var shown []action.Annotation
	for level, all := range by {
		if rest := len(all) - mostAnnotations + 1; rest > 1 {
			all = append(slices.Clip(all[:mostAnnotations-1]), annotation(problem.Problem{
				Severity: problem.Severity(level), Code: problem.CodeLeftOut, Message: fmt.Sprintf("%d more of this level are in the summary of the step", rest),
			}))
			if level == int(problem.SeverityError) {
				all[mostAnnotations-1].Message += hintLine(outline.StepOf(r))
			}
		}
		shown = append(shown, all...)
	}
	return shown
}

// largestArray bounds the bytes of an output of a run over an organisation. All outputs of
// a job may have 1 MB together [docs.github.com, "Defining outputs for jobs"].
const largestArray = 256 << 10

// outputs are the outputs that action.yml declares. Those about one pull request are about
// the first.
func outputs(r report.Report, doc []byte) map[string]string {
	var parts struct {
		PullRequests json.RawMessage `json:"pull_requests"`
	}
	if err := json.Unmarshal(doc, &parts); err != nil {
		panic("command: the report is not the JSON that was just written: " + err.Error())
	}
	pull := report.PullRequest{Operation: "none"}
	if len(r.PullRequests) > 0 {
		pull = r.PullRequests[0]
	}
	number := ""
	if pull.Number > 0 {
		number = strconv.Itoa(pull.Number)
	}
	return map[string]string{
		"changed":                strconv.FormatBool(r.Pending()),
		"pull-request-number":    number,
		"pull-request-url":       pull.URL,
		"pull-request-operation": pull.Operation,
		"pull-request-branch":    pull.Branch,
		"pull-request-head-sha":  pull.HeadSHA,
		"pull-requests":          compact(parts.PullRequests),
		"directories":            directoriesOf(r),
		"findings":               strconv.Itoa(r.Reaching(r.FailOn)),
	}
}

// compact puts a JSON array on one line, as outputs need it. Without a valid one it returns
// [].
func compact(array json.RawMessage) string {
	var b bytes.Buffer
	if len(array) == 0 || json.Compact(&b, array) != nil {
		return "[]"
	}
	return b.String()
}

// directoriesOf lists the root modules with changes as a JSON array.
func directoriesOf(r report.Report) string {
	text, err := json.Marshal(append([]string{}, r.PendingDirs()...))
	if err != nil {
		panic("command: a list of strings cannot be encoded: " + err.Error())
	}
	return string(text)
}

// diagnosticsOf lists all problems, with the names of their files. Findings keep their
// severity for check and verify. For other verbs only a module that has moved does.
func diagnosticsOf(r report.Report) []problem.Problem {
	all, findings := slices.Clone(r.Diagnostics), outline.Briefs(r)
	for i, m := range r.Modules {
		for _, d := range m.Diagnostics {
			if d.Code == problem.CodeOnBase || outline.IsStale(r, d) { // the lock file has an annotation
				continue
			}
			d.Place = m.Names.Place(d.Place)
			all = append(all, d)
		}
		for _, f := range findings[i] {
			d := f
			d.Place = m.Names.Place(d.Place)
			if r.Verb != verbs.Check && r.Verb != verbs.Verify && f.Code != problem.CodeModuleMoved {
				d.Severity = problem.SeverityWarning
			}
			all = append(all, d)
		}
	}
	return slices.DeleteFunc(all, func(d problem.Problem) bool { // the summary has them, and they need not stop anyone
		return d.Code == problem.CodeNotFound && d.Severity == problem.SeverityWarning
	})
}

// annotation shows a problem. In GitHub's range of columns the last one is included, and in
// a place it is not.
func annotation(d problem.Problem) action.Annotation {
	a := action.Annotation{
		Level: action.Error, Title: string(d.Code), Message: safe.Plain(d.Message),
		File: d.Place.Path, Line: d.Place.Line, From: d.Place.From, To: max(d.Place.To-1, 0),
	}
	switch d.Severity {
	case problem.SeverityWarning:
		a.Level = action.Warning
	case problem.SeverityNote:
		a.Level = action.Notice
	}
	if d.Place.Package != "" { // such a place is no file of the workspace
		a.File, a.Line, a.From, a.To, a.Message = "", 0, 0, 0, safe.Plain(d.String())
	}
	a.Message += hintLine(d.Hint)
	return a
}

// fewDetails is how many changes an annotation lists.
const fewDetails = 5

// staleAnnotation shows what is wrong with a lock file: in the title, then what would
// change, and at last the command.
func staleAnnotation(s outline.Stale) action.Annotation {
	d := s.Problem
	d.Hint = ""
	a := annotation(d)
	var lines []string
	for _, item := range s.Details[:min(len(s.Details), fewDetails)] {
		lines = append(lines, safe.Plain(item.Plain()))
	}
	if rest := len(s.Details) - fewDetails; rest > 0 {
		lines = append(lines, collect.Count(rest, "more change", "more changes")+" in the summary of the step")
	}
	a.Title, a.Message = shortTitle(safe.Plain(s.Message)), strings.Join(lines, "\n")+hintLine(s.Hint)
	return a
}

// longestTitle is how many characters of a title GitHub allows:
// https://docs.github.com/en/rest/checks/runs#create-a-check-run
const longestTitle = 255

// shortTitle is a title that is cut where it is too long.
func shortTitle(title string) string {
	runes := []rune(title)
	if len(runes) <= longestTitle {
		return title
	}
	return string(runes[:longestTitle-1]) + "…"
}

// hintLine is a hint on a line of its own; empty without a hint.
func hintLine(hint string) string {
	if hint == "" {
		return ""
	}
	return "\n" + safe.Plain(hint)
}

// annotateError shows the error that ended the step before it had a report.
func annotateError(rt *action.Runtime, err error) error {
	var errs []error
	for _, d := range diagnoses(err) {
		errs = append(errs, rt.Annotate(annotation(d)))
	}
	return errors.Join(errs...)
}
