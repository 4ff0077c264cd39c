package settings

import "github.com/relock-dev/relock/internal/verbs"

// PullRequest is the settings of pull requests.
type PullRequest struct {
	BranchPrefix  string   `key:"branch-prefix"`
	Base          []string `key:"base"` // empty: the default branch
	Title         Template `key:"title"`
	Labels        []string `key:"labels"`
	CreateLabels  bool     // somebody chose the labels: those that do not exist are made
	Reviewers     []string `key:"reviewers"`
	TeamReviewers []string `key:"team-reviewers"`
	Assignees     []string `key:"assignees"`
	Milestone     string   `key:"milestone"` // by its title; empty: none
	Draft         bool     `key:"draft"`
	AutoMerge     string   `key:"auto-merge"`  // "squash", "merge", "rebase", or empty: none
	RebaseWhen    string   `key:"rebase-when"` // "auto", "behind-base" or "conflicted"
	Limit         int      `key:"limit"`       // of open pull requests
	CommitMessage Template `key:"commit-message"`
	ReleaseNotes  bool     `key:"release-notes"`
}

func (p *PullRequest) rows() []Setting {
	return []Setting{
		{field: &p.BranchPrefix, Default: "relock/", check: isBranchPrefix,
			Doc: "What the names of relock's branches begin with."},
		{field: &p.Base, Single: true, check: isBranch,
			Doc: "Branches that pull requests are made against. Empty: the default branch."},
		{field: &p.Title, read: one(readTemplate),
			Doc: "Template of titles, like \"chore(deps): {{changes}}\", in quotes. Placeholders are " + placeholderDocs() + ". Empty: relock's own words."},
		{field: &p.Labels, grouped: ".", Default: "dependencies,terraform", check: isLabel,
			Doc: "Labels of pull requests. relock creates a label that you name here, which takes \"issues: write\". It sets a default label only if the repository has it."},
		{field: &p.Reviewers, grouped: ".", check: isLogin, Doc: "Users whose review is requested."},
		{field: &p.TeamReviewers, grouped: ".", check: isTeam,
			Doc: "Teams of the organisation whose review is requested, each by the last part of its address. The workflow's own token may not do so; that of an App may."},
		{field: &p.Assignees, grouped: ".", check: isLogin, Doc: "Users to whom pull requests are assigned."},
		{field: &p.Milestone, grouped: ".", Doc: "Title of the milestone of pull requests. Empty: none."},
		{field: &p.Draft, grouped: ".", Doc: "Open pull requests as drafts."},
		{field: &p.AutoMerge, grouped: ".", Values: []string{"", "squash", "merge", "rebase"},
			Doc: "How GitHub merges pull requests by itself once its requirements are met. The repository must allow auto-merge, and GitHub refuses it for drafts. A person must merge one with a downgrade, another signer, a hash that nothing accounts for or a module that could not be read. The same holds if a root module of its group failed in the run. Empty: not at all."},
		{field: &p.RebaseWhen, Default: "auto", Values: []string{"auto", "behind-base", "conflicted"},
			Doc: "When to bring a pull request up to date with its base although its proposal is the same. auto: if only that keeps it from being merged, and it is approved or set to merge by itself. behind-base: whenever the base demands branches that are up to date, which may run every check each night. conflicted: never. A branch with another proposal or a conflict is always made again."},
		{field: &p.Limit, grouped: ": how many pull requests of relock may be open when this one is opened.", Default: "10", Min: 1,
			Doc: "How many pull requests of relock may be open at once in a repository; the others wait."},
		{field: &p.CommitMessage, read: one(readTemplate),
			Doc: "Template of the first line of commit messages, with the placeholders of the title. Empty: relock's own words, with a prefix if the repository's commits have one."},
		{field: &p.ReleaseNotes, Default: "true",
			Doc: "Show the release notes of upgrades in the pull request. They are read from the GitHub server that the run speaks to."},
	}
}

// Dashboard is the settings of the issue that shows what waits in a repository, and of the
// issue about all repositories of an organisation.
type Dashboard struct {
	Issue  bool     `key:"issue"` // there is one
	Labels []string `key:"labels"`
	// Repository has the issue about an organisation, OWNER/NAME; empty: there is none.
	Repository string `key:"repository" flag:"dashboard-repository" input:"dashboard-repository"`
}

func (d *Dashboard) rows() []Setting {
	return []Setting{
		{field: &d.Issue,
			Doc: "Keep one issue, \"Lock files at a glance\". It lists what waits, is held back, was closed by a person, was not read, or breaks a rule. Its boxes ask for what waits. It takes \"issues: write\". While the issue is closed, relock writes nothing to it."},
		{field: &d.Labels, check: isLabel,
			Doc: "Labels that the issue gets when it is opened. Those that do not exist are created."},
		{field: &d.Repository, check: isNoRepositoryOrOne, Operator: true, Verbs: []verbs.Verb{verbs.PR},
			Doc: "Repository, as OWNER/NAME, in which a run over an organisation keeps one issue about all repositories. It takes \"issues: write\" there, and is refused where it would be more visible than one of them. Empty: none."},
	}
}
