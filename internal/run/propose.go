package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/transport"
)

// Pull says where and how changes are proposed.
type Pull struct {
	Repository string // OWNER/NAME
	// API and GraphQL are the addresses of GitHub's APIs as the runner gives
	// them; empty: those of github.com.
	API, GraphQL string
	Token        string // secret
	// Head is the commit of the checkout, for one that has no .git.
	Head string
	// Base is the branch to propose against; empty: the default branch.
	Base         string
	BranchPrefix string
	Labels       []string
	// ReleaseNotes puts those of upgrades into the text.
	ReleaseNotes bool
	DryRun       bool
}

// group is the key of the one group that holds all changes.
const group = "all"

// propose brings the planned lock files to GitHub as one pull request.
func (c *corridor) propose(ctx context.Context) error {
	if len(c.trees) != 1 {
		return errors.New("the directories are in different repositories; a pull request is about one")
	}
	repo, err := c.repository()
	if err != nil {
		return err
	}
	head, err := headOf(c.trees[0].root, c.req.Pull.Head)
	if err != nil {
		return err
	}
	base := c.req.Pull.Base
	if base == "" {
		if base, err = repo.DefaultBranch(ctx); err != nil {
			return err
		}
	}
	proposals := c.proposals(ctx, base)
	if c.req.Pull.DryRun {
		for _, p := range proposals {
			p.Write() // nobody else asks for the text
		}
	}
	outcomes := pr.Propose(ctx, repo, proposals, pr.Options{
		Base: base, SHA: head, Prefix: c.req.Pull.BranchPrefix,
		Partial: c.partial(), DryRun: c.req.Pull.DryRun, Log: c.env.Log,
	})
	for _, o := range outcomes {
		c.record(o, base, proposals)
	}
	return nil
}

func (c *corridor) repository() (*github.Repository, error) {
	owner, name, ok := strings.Cut(c.req.Pull.Repository, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return nil, provider.Diagnostic{
			Code: provider.CodeSettings, Message: "the repository is not known",
			Hint: "set GITHUB_REPOSITORY to OWNER/NAME",
		}
	}
	if c.req.Pull.Token == "" {
		return nil, provider.Diagnostic{
			Code: provider.CodeSettings, Message: "there is no token for GitHub",
			Hint: "set GITHUB_TOKEN to one that may write contents and pull requests",
		}
	}
	for _, endpoint := range []string{c.req.Pull.API, c.req.Pull.GraphQL} {
		if u, err := url.Parse(endpoint); err == nil {
			c.client.Admit(transport.HostPort(u))
		}
	}
	client, err := github.New(github.Options{
		HTTP: c.client.HTTP(), API: c.req.Pull.API, GraphQL: c.req.Pull.GraphQL,
		Token: c.req.Pull.Token, Log: c.env.Log,
	})
	if err != nil {
		return nil, err
	}
	c.hub = client
	return client.Repository(owner, name), nil
}

// headOf is the commit of the checkout. The runner's own checkout has no .git
// where git is not installed: then the commit that started the workflow is it.
func headOf(root, otherwise string) (string, error) {
	repo, err := git.PlainOpenWithOptions(root, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
	if err != nil && otherwise != "" {
		return otherwise, nil
	}
	if err != nil {
		return "", fmt.Errorf("opening the git repository at %s: %w", root, err)
	}
	head, err := repo.Head()
	if err != nil {
		return "", fmt.Errorf("reading the HEAD of the git repository at %s: %w", root, err)
	}
	return head.Hash().String(), nil
}

// proposals are the changed lock files as one group; none if nothing changed.
func (c *corridor) proposals(ctx context.Context, base string) []pr.Proposal {
	var files []pr.File
	var changed []pr.Changed
	for i, f := range c.found {
		if f.result.File == nil {
			continue
		}
		files = append(files, c.file(f))
		changed = append(changed, pr.Changed{Dir: f.module.Dir, Changes: changesOf(c.report.Modules[i])})
	}
	if len(files) == 0 {
		return nil
	}
	p := pr.New(group, base, c.req.Pull.BranchPrefix, files)
	p.Title = pr.Title(changed)
	p.Subject, p.Summary = pr.Subject(changed), pr.Summary(changed)
	p.Write = sync.OnceValue(func() string {
		c.enrich(ctx, c.hub)
		return report.Body(c.report)
	})
	p.Labels = c.req.Pull.Labels
	return []pr.Proposal{p}
}

func changesOf(m report.Module) []diff.Change {
	changes := make([]diff.Change, len(m.Changes))
	for i, change := range m.Changes {
		changes[i] = change.Change
	}
	return changes
}

// file is a lock file as it shall be committed.
func (c *corridor) file(f found) pr.File {
	name := path.Join(f.module.Dir, lockfile.Name)
	file := pr.File{Path: name, Content: f.result.File}
	if f.module.Lock != nil {
		file.Old = f.module.Lock.Source
	}
	if info, err := os.Lstat(f.tree.path(name)); err == nil && info.Mode().IsRegular() && executable(info.Mode()) {
		file.Mode = "100755"
	}
	return file
}

func executable(mode fs.FileMode) bool { return mode&0o111 != 0 }

// partial reports whether the run did not look at everything: then no pull
// request may be closed because its changes were not seen.
func (c *corridor) partial() bool {
	return len(c.req.Dirs) > 0 || len(c.req.Plan.Only) > 0 || c.report.Failed()
}

// record puts what became of a proposal into the report.
func (c *corridor) record(o pr.Outcome, base string, proposals []pr.Proposal) {
	if o.Err != nil {
		c.report.Diagnostics = append(c.report.Diagnostics, provider.Diagnose(o.Err))
	}
	pull := report.PullRequest{
		Operation: string(o.Operation), Number: o.Number, URL: o.URL,
		Branch: o.Branch, Base: base, HeadSHA: o.HeadSHA, Reason: o.Reason,
	}
	for _, p := range proposals {
		if p.Branch != o.Branch {
			continue
		}
		pull.Title = p.Title
		for _, f := range p.Files {
			pull.Directories = append(pull.Directories, path.Dir(f.Path))
		}
	}
	c.report.PullRequests = append(c.report.PullRequests, pull)
}
