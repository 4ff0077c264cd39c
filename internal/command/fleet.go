package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/organisation"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// usualPlan is where a plan is written if nobody says where.
const usualPlan = "plan.json"

func shardsCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "shards --org OWNER", Short: "Divide a run over an organisation into the jobs of a workflow",
		Long: `shards lists the repositories of an organisation once, writes which of them each
shard has to a plan, and prints the matrix of a workflow's jobs. Each job runs
relock pr --plan FILE --shard I/N, and the last one relock report merge.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, s, err := settingsOfRun(cmd.Context(), env, verbs.Shards, given(cmd.Flags()))
			if err != nil {
				return err
			}
			p, err := divide(cmd.Context(), env, from, s)
			if err != nil {
				return err
			}
			for _, u := range p.Unlisted {
				logger(env.Stderr, s.Verbose).Warn(foreseen(u).Message)
			}
			_, err = fmt.Fprintln(env.Stdout, p.Matrix())
			return err
		},
	}
	addFlags(cmd, verbs.Shards)
	return cmd
}

// divide plans a run over an organisation, and writes the plan.
func divide(ctx context.Context, env Env, from settings.Sources, s settings.Settings) (organisation.Division, error) {
	if s.Organisation.Owner == "" {
		return organisation.Division{}, errors.New("shards divides a run over an organisation; name it with --org")
	}
	costs, err := costsOf(env, s.Organisation.Costs)
	if err != nil {
		return organisation.Division{}, err
	}
	ask := run.ToProposeOf(env.meansOf(from, s, footer), s.Organisation.Owner, nil)
	var p organisation.Division
	_, err = during(env, ask, func(session *run.Session) (r report.Report, err error) {
		p, err = organisation.PlanShards(ctx, session, ask, ofOwner(from, s), organisation.Sharing{Shards: s.Organisation.Shards, Costs: costs})
		return r, err
	})
	if err != nil {
		return p, err
	}
	p.Settings = from.OperatorsIdentity()
	if s.Organisation.Pause {
		p.Shards = []organisation.Shard{{}} // nothing is done
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return p, err
	}
	name := cmp.Or(s.Organisation.Plan, usualPlan)
	if err := file.Replace(env.path(name), text.Bytes(), file.Options{Mode: 0o644, Parents: 0o755}); err != nil {
		return p, fmt.Errorf("writing the plan %s: %w", name, file.Cause(err))
	}
	return p, nil
}

// foreseen says at the planning that a repository cannot be looked at. The run fails for
// it when its shards are joined: their jobs do not start if the planning fails.
func foreseen(u organisation.Unlisted) problem.Problem {
	d := u.Problem()
	d.Severity = problem.SeverityWarning
	return d
}

// ofOwner is which repositories of an owner a run is about, by its settings.
func ofOwner(from settings.Sources, s settings.Settings) organisation.Organisation {
	return organisation.Organisation{
		Owner: s.Organisation.Owner, Where: s.Organisation.Where, MaxNew: s.Organisation.MaxNew, Memory: remembering(s), Settings: from.Identity(s),
	}
}

// remembering is the path of the memory, for a run that looks at all of a repository.
func remembering(s settings.Settings) string {
	if len(s.Providers) > 0 || len(s.Directories) > 0 {
		return ""
	}
	return s.Organisation.Memory
}

// costsOf are the requests of the repositories of an earlier run, by its report.
func costsOf(env Env, name string) (map[string]int64, error) {
	if name == "" {
		return nil, nil
	}
	r, err := readReport(env.path(name))
	if err != nil || r.Fleet == nil {
		return nil, fmt.Errorf("reading the costs in %s: %w", name, cmp.Or(err, errors.New("the report is of no organisation")))
	}
	costs := map[string]int64{}
	for _, f := range r.Fleet.Repositories {
		if f.State != report.NotReached && f.State != report.NoResult {
			costs[f.Name] = f.Requests
		}
	}
	return costs, nil
}

// ofShard is what one shard of a plan has to do.
func ofShard(env Env, from settings.Sources, s settings.Settings) (organisation.Organisation, error) {
	if s.Organisation.Plan == "" || s.Organisation.Shard == "" {
		return organisation.Organisation{}, errors.New("--plan and --shard go together: --plan plan.json --shard 1/8")
	}
	p, err := readPlan(env, s.Organisation.Plan)
	if err != nil {
		return organisation.Organisation{}, err
	}
	if p.Settings != "" && p.Settings != from.OperatorsIdentity() {
		return organisation.Organisation{}, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Place: problem.Place{Path: s.Organisation.Plan}, Message: "the plan was made by another operator's file than this run has",
			Hint: "give every job of a run the same file with --config, or plan again",
		}}
	}
	shard, err := p.Shard(s.Organisation.Shard)
	if err != nil {
		return organisation.Organisation{}, err
	}
	return organisation.Organisation{Owner: p.Owner, MaxNew: shard.MaxNew, Shard: &shard, Prefix: p.Prefix, Memory: remembering(s), Settings: from.Identity(s)}, nil
}

func readPlan(env Env, name string) (organisation.Division, error) {
	f, err := file.Open(env.path(name))
	if err != nil {
		return organisation.Division{}, fmt.Errorf("reading the plan %s: %w", name, file.Cause(err))
	}
	defer f.Close()
	p, err := organisation.ReadDivision(f)
	if err != nil {
		return p, fmt.Errorf("reading the plan %s: %w", name, err)
	}
	return p, nil
}

func readReport(path string) (report.Report, error) {
	f, err := file.Open(path)
	if err != nil {
		return report.Report{}, file.Cause(err)
	}
	defer f.Close()
	return report.FromJSON(f)
}

func reportCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{Use: "report", Short: "Make one report of several"}
	var plan, output, cache string
	var caches []string
	merge := &cobra.Command{
		Use: "merge --plan FILE REPORT…", Short: "Make one report of those of all shards",
		Long: `merge reads the JSON reports of the shards of a plan and makes one of them. It
names each repository of the plan that has no result, and ends with status 1 then.
With --caches it adds to the hash cache --cache what those of the shards know.`,
		RunE: func(cmd *cobra.Command, reports []string) error {
			if err := formatOf(cmd); err != nil {
				return err
			}
			r, err := joinShards(env, plan, reports)
			if err != nil {
				return err
			}
			r.Diagnostics = append(r.Diagnostics, joinCaches(env, cache, caches)...)
			if err := show(env, r, settings.Settings{Format: cmd.Flag("format").Value.String()}); err != nil {
				return err
			}
			if output != "" {
				if _, err := keepReport(r, env.path(output)); err != nil {
					return err
				}
			}
			return status(r)
		},
	}
	merge.Flags().StringVar(&plan, "plan", usualPlan, "The plan of the shards.")
	merge.Flags().StringVar(&output, "output", "", "Directory for the report as JSON and as a page for a browser.")
	merge.Flags().StringVar(&cache, "cache", "", "Hash cache to which those of the shards are added.")
	merge.Flags().StringSliceVar(&caches, "caches", nil, "Hash caches of the shards, or patterns of their paths.")
	addFlags(merge, verbs.MergeReports)
	cmd.AddCommand(merge)
	return cmd
}

// joinShards is the report of all shards of a plan. It names shards that cannot be read,
// and their repositories.
func joinShards(env Env, plan string, patterns []string) (report.Report, error) {
	p, err := readPlan(env, cmp.Or(plan, usualPlan))
	if err != nil {
		return report.Report{}, err
	}
	var runs []report.Report
	var unreadable []problem.Problem
	for _, name := range filesMatching(env, patterns) {
		r, err := readReport(env.path(name))
		if err != nil {
			unreadable = append(unreadable, problem.Problem{
				Code: problem.CodeSettings, Place: problem.Place{Path: shownPath(env, name)}, Message: fmt.Sprintf("the report cannot be read: %v", err),
				Hint: "run the job of that shard again",
			})
			continue
		}
		runs = append(runs, r)
	}
	planned := report.Fleet{Owner: p.Owner, Listed: p.Listed, LeftOut: p.LeftOut}
	for _, r := range p.All() {
		planned.Repositories = append(planned.Repositories, report.Outcome{Name: r.Name, State: report.NoResult})
	}
	all := organisation.WithUnlisted(report.OfShards(planned, runs...), p.Unlisted)
	all.Diagnostics = append(all.Diagnostics, unreadable...)
	return all, nil
}

// joinCaches adds the hash caches of shards to a cache, as a run with write access would.
// If caches contradict each other, it trusts none. An unusable cache costs downloads, and
// is reported.
func joinCaches(env Env, into string, patterns []string) []problem.Problem {
	if len(patterns) == 0 {
		return nil
	}
	if head, _ := env.runtime().Head(); head {
		return []problem.Problem{cachesOfHead(problem.SeverityWarning)}
	}
	unusable := func(name string, err error) problem.Problem {
		return problem.Problem{
			Code: problem.CodeSettings, Severity: problem.SeverityWarning, Place: problem.Place{Path: shownPath(env, name)}, Message: fmt.Sprintf("the hash cache cannot be used: %v", file.Cause(err)),
			Hint: "nothing is wrong with what the shards have done; what they have hashed is downloaded again",
		}
	}
	cache, err := hash.OpenCache(env.path(cmp.Or(into, env.cached("hashes"))))
	if err != nil {
		return []problem.Problem{unusable(into, err)}
	}
	var told []problem.Problem
	for _, name := range filesMatching(env, patterns) {
		if err := cache.Merge(env.path(name)); err != nil {
			told = append(told, unusable(name, err))
		}
	}
	if err := cache.Close(); err != nil {
		told = append(told, unusable(into, err))
	}
	return told
}

// cachesOfHead says that hash caches are not joined where the head of a pull request may
// have written them.
func cachesOfHead(severity problem.Severity) problem.Problem {
	return problem.Problem{
		Code: problem.CodeSettings, Severity: severity, Message: "the hash caches are not joined: nothing is kept of what a run about a pull request's head has hashed",
		Hint: "join them in runs of the default branch",
	}
}

// shownPath is a path as people know it: relative to the working directory, if it is
// below that.
func shownPath(env Env, name string) string {
	if rel, err := filepath.Rel(env.WorkDir, env.path(name)); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name
}

// filesMatching are the files that patterns match, sorted. A pattern that matches none
// remains as a name, which cannot be read.
func filesMatching(env Env, patterns []string) []string {
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(env.path(pattern))
		if err != nil || len(found) == 0 {
			found = []string{pattern}
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// keptReport is where a report is for others: as JSON and as a page.
type keptReport struct {
	json      []byte
	doc, page string
}

// keepReport writes a report to a directory.
func keepReport(r report.Report, dir string) (keptReport, error) {
	var text, html bytes.Buffer
	if err := errors.Join(report.JSON(&text, r), render.HTML(&html, r)); err != nil {
		return keptReport{}, err
	}
	kept := keptReport{text.Bytes(), filepath.Join(dir, reportFile), filepath.Join(dir, pageFile)}
	for name, content := range map[string][]byte{kept.doc: kept.json, kept.page: html.Bytes()} {
		if err := file.Replace(name, content, file.Options{Mode: 0o644, Parents: 0o755}); err != nil {
			return kept, fmt.Errorf("writing the report %s: %w", filepath.Base(name), file.Cause(err))
		}
	}
	return kept, nil
}

// shardsStep divides a run over an organisation as a step of a workflow, with the
// matrix of the jobs that follow as an output.
func shardsStep(ctx context.Context, env Env, rt *action.Runtime, from settings.Sources, s settings.Settings) (report.Report, error) {
	p, err := divide(ctx, env, from, s)
	if err != nil {
		return report.Report{}, err
	}
	planned := report.Fleet{Owner: p.Owner, Listed: p.Listed, LeftOut: p.LeftOut}
	for _, r := range p.All() {
		planned.Repositories = append(planned.Repositories, report.Outcome{Name: r.Name, State: report.Planned})
	}
	name := env.path(cmp.Or(s.Organisation.Plan, usualPlan))
	step := report.Report{Verb: verbs.PR, Fleet: &planned}
	for _, u := range p.Unlisted {
		step.Diagnostics = append(step.Diagnostics, foreseen(u))
	}
	return step, errors.Join(rt.SetOutput("matrix", p.Matrix()), rt.SetOutput("plan", rt.Outside(name)))
}
