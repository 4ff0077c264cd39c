package run

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// mostChanged bounds the files of a pull request that are looked at to find the
// root modules that it touches.
const mostChanged = 1000

// head is the request of a command about the pull request's own files. They
// choose nothing: neither settings, nor credentials, nor, from a fork, hosts.
func (c *conversation) head(ctx context.Context, verb Verb) (Request, error) {
	// GitHub keeps the head of each pull request in the repository that it is for.
	remote, err := snapshot(ctx, c.repo, c.pull.Head)
	if err != nil {
		return Request{}, err
	}
	return c.about(ctx, verb, remote)
}

// about is the request of a command about a file tree that the pull request has a
// part in.
func (c *conversation) about(ctx context.Context, verb Verb, remote *Remote) (_ Request, err error) {
	req := c.req
	target := Target{Repository: c.remark.Repository, Files: remote, Dirs: c.directories()}
	req.Verb, req.Head = verb, OwnHead
	if c.pull.Fork {
		req.Head = ForkHead
		req.Hosts = sync.OnceValue(func() []svchost.Hostname { return c.hosts(ctx) })
	}
	req.Plan.Mode = upgrade.Upgrade
	if c.command.Verb == comment.Lock {
		req.Plan.Mode = upgrade.Complete
	}
	req.Named = c.command.Providers // what a setting names need not be in every pull request
	if len(c.command.Providers) > 0 {
		req.Plan.Only = c.command.Providers
	}
	if len(c.command.Platforms) > 0 {
		req.Plan.Platforms = upgrade.Platforms{List: c.command.Platforms, Demanded: true}
	}
	if len(c.command.Dirs) > 0 {
		target.Dirs = c.command.Dirs
	} else if req.Touched, err = c.touched(ctx); err != nil {
		return req, err
	}
	req.Targets = []Target{target}
	return req, nil
}

// hosts are the registries that the base branch uses already: whoever may write
// there has chosen them. Modules that the base fetches are not looked into. None
// is known if the base cannot be read.
func (c *conversation) hosts(ctx context.Context) []svchost.Hostname {
	base, err := snapshot(ctx, c.repo, c.base)
	if err != nil {
		c.env.Log.Warn("the base branch could not be read for the hosts that it uses", "error", err)
		return nil
	}
	options := c.req.Scan
	options.Dirs, options.Create, options.Orphans = nil, true, true
	modules, _, err := rootModules(ctx, base.FS, nil, options)
	if err != nil {
		c.env.Log.Warn("the base branch could not be scanned for the hosts that it uses", "error", err)
		return nil
	}
	var hosts []svchost.Hostname
	for _, m := range modules {
		for _, r := range m.All().Requirements {
			hosts = append(hosts, r.Addr.Host)
		}
		if m.Lock == nil {
			continue
		}
		for _, l := range m.Lock.Locks {
			hosts = append(hosts, l.Addr.Host)
		}
	}
	return hosts
}

// touched returns a test for the root modules that the pull request touches, by
// one of their own files or one of a module that they call.
func (c *conversation) touched(ctx context.Context) (func(scan.RootModule) bool, error) {
	files, complete, err := c.repo.ChangedFiles(ctx, c.remark.Number, mostChanged)
	if err != nil {
		return nil, err
	}
	if !complete {
		return nil, refused("the pull request changes more than %d files; name the directories", mostChanged)
	}
	return newChanged(files).touches, nil
}

// repair upgrades or completes lock files on the branch of somebody's pull
// request, and pushes to it.
func (c *conversation) repair(ctx context.Context) error {
	verb := Upgrade
	if c.command.Verb == comment.Lock {
		verb = Lock
	}
	merged, err := c.conflicts(ctx)
	if err != nil {
		return err
	}
	req, err := c.repairing(ctx, verb, merged)
	if err != nil {
		return err
	}
	why := ""
	if c.decision.ReportOnly {
		req.Verb, why = Check, "relock may not push to the branch of this fork"
	} else {
		req.Targets[0].Destination = c.destination(merged)
	}
	c.report, err = c.Do(ctx, req)
	if err != nil && c.pull.Fork && c.pushFailed(err) {
		c.report.Verb, why, err = report.VerbCheck, report.Inert(err.Error()), nil
	}
	if err != nil {
		return notFound(err)
	}
	if err := c.something(); err != nil {
		return err
	}
	return c.say(ctx, report.Comment(c.outcome(ctx, verb, why), c.report))
}

// conflicts merges the base where the command is to repair the lock files that
// conflict with it.
func (c *conversation) conflicts(ctx context.Context) (*merge, error) {
	if c.command.Verb != comment.Lock || c.decision.ReportOnly {
		return nil, nil
	}
	return c.mergeBase(ctx)
}

// repairing is the request to repair the lock files of the head or, if the base had
// to be merged into it, of the merge: then also those that conflict.
func (c *conversation) repairing(ctx context.Context, verb Verb, merged *merge) (Request, error) {
	if merged == nil {
		return c.head(ctx, verb)
	}
	req, err := c.about(ctx, verb, &Remote{FS: merged.tree, Commit: c.pull.Head})
	if err != nil {
		return req, err
	}
	for name := range merged.merged {
		if t := &req.Targets[0]; len(t.Dirs) > 0 {
			t.Dirs = append(slices.Clip(t.Dirs), path.Dir(name))
		}
	}
	if touched := req.Touched; touched != nil {
		req.Touched = func(m scan.RootModule) bool {
			_, conflicting := merged.merged[path.Join(m.Dir, lockfile.Name)]
			return conflicting || touched(m)
		}
	}
	return req, nil
}

// something refuses a command that says no directory where there is nothing that
// it could be about.
func (c *conversation) something() error {
	if len(c.report.Modules) > 0 || len(c.command.Dirs) > 0 || c.report.Failed() || c.report.Pushed != "" {
		return nil
	}
	return refused("the pull request touches no root module that has a lock file; name a directory to take one all the same")
}

// destination is the branch of the pull request. A GitHub App must be installed
// where that is.
func (c *conversation) destination(merged *merge) *Push {
	p := &Push{Hub: c.remark.Hub, Repository: c.pull.HeadRepository, Branch: c.pull.HeadBranch, merge: merged, ready: c.unqueued}
	if c.pull.Fork && p.Hub.App != nil {
		app := *p.Hub.App
		app.Repositories = append(slices.Clone(app.Repositories), p.Repository)
		p.Hub.App = &app
	}
	return p
}

// unqueued refuses to touch a pull request in a merge queue: a push takes it out,
// and what is merged then need not be what was reviewed.
func (c *conversation) unqueued(ctx context.Context) error {
	now, err := c.repo.Merging(ctx, c.pull)
	if err == nil && now.Open && now.Queued {
		err = refused("the pull request is in the merge queue of %s; ask again when it is merged or out of there", c.pull.Base)
	}
	return err
}

// pushFailed reports whether everything is known but could not be pushed: then a
// person can still be told how to do so.
func (c *conversation) pushFailed(err error) bool {
	var no refusal
	return len(c.report.Modules) > 0 && provider.Coded(err, provider.CodeGitHub) && !errors.As(err, &no)
}

// outcome says in a sentence or two what became of the lock files, and why if
// they could not be pushed.
func (c *conversation) outcome(ctx context.Context, verb Verb, why string) string {
	switch {
	case c.report.Pushed != "":
		return "Pushed commit " + c.report.Pushed + "." + c.approval(ctx)
	case why != "" && c.report.Pending():
		return "Nothing was pushed: " + why + ". Run this at the top of a checkout of the branch, and commit the result:\n\n" +
			report.Fenced(c.local(verb), 4096)
	}
	return "Nothing was pushed."
}

// local is the command line that does the same in a checkout.
func (c *conversation) local(verb Verb) string {
	words := []string{"relock", string(verb)}
	for _, p := range c.command.Providers {
		words = append(words, "--provider", quoted(p.String()))
	}
	for _, p := range c.command.Platforms {
		words = append(words, "--platform", p.String())
	}
	for _, m := range c.report.Modules {
		if m.Pending {
			words = append(words, quoted(m.Dir))
		}
	}
	return strings.Join(words, " ") + "\n"
}

// quoted makes a directory, or another text that holds no control characters
// once it is Plain, one word of a POSIX shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/-", r)
	}
	if strings.HasPrefix(word, "-") {
		word = "./" + word
	}
	if !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(report.Plain(word), "'", `'\''`) + "'"
}

// check says what upgrade would change.
func (c *conversation) check(ctx context.Context) error {
	if err := c.look(ctx, Check); err != nil {
		return err
	}
	return c.say(ctx, report.Comment("", c.report))
}

// why says for a provider where each constraint stands.
func (c *conversation) why(ctx context.Context) error {
	if err := c.look(ctx, Scan); err != nil {
		return err
	}
	said, err := text(c.report, report.TextOptions{Why: c.command.Providers})
	if err != nil {
		return err
	}
	return c.say(ctx, report.Fenced(said, mostText))
}

// look runs a verb that writes nothing.
func (c *conversation) look(ctx context.Context, verb Verb) error {
	req, err := c.head(ctx, verb)
	if err != nil {
		return err
	}
	if c.report, err = c.Do(ctx, req); err != nil {
		return notFound(err)
	}
	return c.something()
}

// mostText bounds the text of an answer, in bytes; GitHub takes 65,536
// characters.
const mostText = 60_000

// diff shows what the pull request changes in lock files, from where it left its
// base.
func (c *conversation) diff(ctx context.Context) error {
	compared, err := c.repo.Compare(ctx, c.pull.Base, c.pull.Head)
	if err != nil {
		return err
	}
	before, err := c.locks(ctx, compared.Fork.SHA)
	if err != nil {
		return err
	}
	after, err := c.locks(ctx, c.pull.Head)
	if err != nil {
		return err
	}
	c.report = report.Report{Verb: report.VerbDiff}
	for _, name := range union(before, after) {
		if m := Compare(name, before[name], after[name]); len(m.Changes)+len(m.Diagnostics) > 0 {
			c.report.Modules = append(c.report.Modules, m)
		}
	}
	return c.say(ctx, report.Comment("", c.report))
}

// locks are the lock files of a commit, by path.
func (c *conversation) locks(ctx context.Context, sha string) (map[string][]byte, error) {
	tree, err := c.repo.Snapshot(ctx, sha, isLock)
	if err != nil {
		return nil, err
	}
	return lockFiles(tree)
}

func isLock(name string) bool { return path.Base(name) == lockfile.Name }

// Push says to which branch lock files are pushed, from the commit that they
// were read at.
type Push struct {
	Hub        Hub
	Repository string // OWNER/NAME
	Branch     string
	merge      *merge // of the base, which is committed with the lock files; nil: none
	// ready is asked just before something is pushed, and may refuse.
	ready func(context.Context) error
}

// push commits the planned lock files to the branch as a fast-forward: if the
// branch is not where it was read, nothing is pushed.
func push(ctx context.Context, j job, p planned, to *Push) (report.Report, error) {
	var files []github.File
	var changed []pr.Changed
	for _, f := range p.found {
		if f.result.File == nil {
			continue
		}
		file := lockFile(f)
		files = append(files, github.File{Path: file.Path, Mode: cmp.Or(file.Mode, "100644"), Content: file.Content})
		changed = append(changed, pr.Changed{Dir: f.module.Dir, Changes: changesOf(f.result)})
	}
	if m := to.merge; m != nil {
		complete := false
		if files, complete = m.files(files); !complete {
			return p.report, nil // which tells why
		}
	} else if len(files) == 0 {
		return p.report, nil
	}
	h, err := j.hubs.of(to.Hub, to.Repository)
	if err != nil {
		return p.report, err
	}
	repo, err := h.repository(to.Repository)
	if err != nil {
		return p.report, err
	}
	if err := to.ready(ctx); err != nil {
		return p.report, err
	}
	subject := pr.Subject(changed)
	if to.merge != nil {
		subject = pr.Shortened("Merge " + to.merge.from + " into " + to.Branch)
	}
	read := j.target.remote().Commit
	sha, err := to.commit(ctx, repo, read, files, subject+"\n\n"+pr.Summary(changed))
	if err != nil {
		return p.report, err
	}
	err = repo.FastForward(ctx, to.Branch, sha)
	if errors.Is(err, github.ErrConflict) && to.moved(ctx, repo, read) {
		return p.report, refused("the branch has moved since it was read, and nothing was pushed; look at what is there, then ask again")
	}
	if err != nil {
		return p.report, err
	}
	p.report.Pushed = sha
	for i := range p.report.Modules {
		p.report.Modules[i].Written = p.report.Modules[i].Pending
	}
	return p.report, nil
}

// moved reports whether the branch is elsewhere than it was read. Where it is not,
// a rule of the repository refuses the push.
func (p *Push) moved(ctx context.Context, repo *github.Repository, read string) bool {
	now, err := repo.Head(ctx, p.Branch)
	return err != nil || now != read
}

// commit stores the files as a commit on the one that they were made from.
func (p *Push) commit(ctx context.Context, repo *github.Repository, read string, files []github.File, message string) (string, error) {
	if m := p.merge; m != nil {
		tree := m.into.Tree
		if len(files) > 0 {
			var err error
			if tree, err = repo.CreateTree(ctx, tree, files); err != nil {
				return "", err
			}
		}
		return repo.CreateCommit(ctx, github.Commit{Message: message, Tree: tree, Parents: []string{read, m.base}})
	}
	parent, err := repo.Commit(ctx, read)
	if err != nil {
		return "", err
	}
	tree, err := repo.CreateTree(ctx, parent.Tree, files)
	if err != nil {
		return "", err
	}
	return repo.CreateCommit(ctx, github.Commit{Message: message, Tree: tree, Parents: []string{parent.SHA}})
}
