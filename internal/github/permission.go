package github

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
)

// permission is what a token must be granted, as a line of the permissions
// key of a workflow.
type permission string

const (
	readContents  permission = "contents: read"
	writeContents permission = "contents: write"
	readPulls     permission = "pull-requests: read"
	writePulls    permission = "pull-requests: write"
	readIssues    permission = "issues: read"
	writeIssues   permission = "issues: write"
)

func (p permission) writes() bool { return strings.HasSuffix(string(p), ": write") }

var granted = regexp.MustCompile(`^([a-z_]+)=(read|write)$`)

// accepted returns the permissions that GitHub names in a refusal
// [docs.github.com, "Troubleshooting the REST API", "Insufficient permissions"]:
// alternatives, separated by semicolons, of permissions separated by commas.
func accepted(h http.Header) [][]permission {
	var alternatives [][]permission
	for alternative := range strings.SplitSeq(h.Get("X-Accepted-GitHub-Permissions"), ";") {
		var all []permission
		for part := range strings.SplitSeq(alternative, ",") {
			m := granted.FindStringSubmatch(strings.TrimSpace(part))
			if m != nil && m[1] != "metadata" { // which every token has
				all = append(all, permission(strings.ReplaceAll(m[1], "_", "-")+": "+m[2]))
			}
		}
		if len(all) > 0 {
			alternatives = append(alternatives, all)
		}
	}
	return alternatives
}

// advised is a refusal by what GitHub says, and what to do about it.
type advised struct {
	said, hint string
	whole      bool // it is about the one who asks, in every repository
}

// advice says what to do about refusals whose message is more precise than their status.
// The first matching row counts.
var advice = []advised{
	// A setting of the repository or the organization: no permission of the
	// workflow helps.
	{said: "GitHub Actions is not permitted to create or approve pull requests",
		hint: `tick "Allow GitHub Actions to create and approve pull requests" under Settings, Actions, General, ` +
			"Workflow permissions of the repository or its organization, or use the token of a GitHub App"},
	// It is the base that has changed a workflow, and a merge of it brings that along.
	{said: "create or update workflow", hint: "the base branch has changed a workflow, which the token may not bring into another branch: " +
		"use a GitHub App that has \"workflows: write\", or update the branch by hand"},
	// GraphQL does not say what it lacks [russellbanks/Komac#1726].
	{said: "does not have the correct permissions to execute `UpdateRef", hint: "the token may not write to the branch, or the base branch has changed a workflow, which it may not bring there: " +
		"grant \"contents: write\", or use a GitHub App that has \"workflows: write\""},
	{said: "IP allow list", hint: "add the runner's addresses to the organization's IP allow list, or run relock where they are admitted", whole: true},
	{said: "issue is locked", hint: "unlock the conversation, or look at the summary of the run"},
	{said: "merging is not allowed on this repository", hint: "choose a method for pull-request.auto-merge that the repository allows under Settings, General, Pull Requests"},
	{said: "has been suspended", hint: "unsuspend the GitHub App in the settings of the account that it is installed in", whole: true},
	{said: "SAML", hint: "authorize the token for the organization's single sign-on", whole: true},
	{said: "archived", hint: "unarchive the repository, or take it out of the list"},
	{said: "Auto merge is not allowed", hint: `tick "Allow auto-merge" under Settings, General, Pull Requests of the repository`},
	{said: "in clean status", hint: "auto-merge waits for what the rules of the base branch demand: without such rules, leave the setting empty"},
	{said: "Draft pull requests are not supported", hint: "the repository's plan has no drafts: leave the setting pull-request.draft out"},
}

// ruleAdvice says what to do about what a ruleset demands. GitHub's message, which stays,
// says what that is [docs.github.com, "Available rules for rulesets"; vercel/workflow#1867].
// The first row counts that fits.
var ruleAdvice = []advised{
	{said: "verified signature", hint: "a ruleset wants signed commits: use the workflow's own token or a GitHub App, whose commits GitHub signs; where the base has unsigned ones, let the ruleset except these branches"},
	{said: "ommit message", hint: "a ruleset wants another commit message: set pull-request.commit-message so that it fits"},
	{said: "mail", hint: "a ruleset wants another committer: let it except the account of the token, or use the token of one that it admits"},
	{said: "ile path", hint: "a ruleset restricts these paths: let it except the account of the token"},
	{said: "merge commit", hint: "a ruleset wants a linear history: let it except the branches of relock, or rebuild the pull request with /relock rebase"},
	{said: "creations being restricted", hint: "a ruleset restricts which branches may be made: let it except them, or choose another pull-request.branch-prefix"},
	{said: "ranch name", hint: "a ruleset wants other names of branches: choose another pull-request.branch-prefix, or let it except them"},
	{said: "", hint: "a ruleset of the repository or its organization forbids this for branches of that name: let it except them, or choose another pull-request.branch-prefix"},
}

// ruleRefused is what GitHub says where a ruleset refuses a push.
const ruleRefused = "Repository rule violations"

// hint says what to do about a refusal of what needs a permission.
func (r *Repository) hint(said *refusal, needs permission) string {
	rows := advice
	if strings.Contains(said.message, ruleRefused) {
		rows = ruleAdvice
	}
	for _, a := range rows {
		if strings.Contains(said.message, a.said) {
			return a.hint
		}
	}
	switch {
	case r.Anonymous() && said.status == http.StatusNotFound:
		return "check the name; a private repository is hidden without a token: " + tokenHint
	case r.Anonymous() && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, said.status):
		return tokenHint
	case strings.Contains(said.message, "permission to create labels"):
		return "create the labels by hand, or " + r.grant(said, writeIssues)
	case said.status == http.StatusUnauthorized:
		return "the token is not valid here: check that it is complete, not expired, and meant for " + r.client.host.ForDisplay()
	case said.status == http.StatusForbidden, said.status == http.StatusNotFound && needs.writes():
		return r.grant(said, needs)
	case said.status == http.StatusNotFound && r.client.tokens.isApp():
		return fmt.Sprintf("check the name, that the installation of the GitHub App includes %s, and that it has %q", r, needs)
	case said.status == http.StatusNotFound:
		return fmt.Sprintf("check the name, and that the token may read %s (in a workflow: %q under permissions)", r, needs)
	}
	return ""
}

// grant says which permission is missing, and where it is given. Of alternatives
// it names the one with the permission that the README asks for.
func (r *Repository) grant(said *refusal, needs permission) string {
	lines := []permission{needs}
	if i := slices.IndexFunc(said.accepts, func(all []permission) bool { return slices.Contains(all, needs) }); i >= 0 {
		lines = said.accepts[i]
	} else if len(said.accepts) > 0 {
		lines = said.accepts[0]
	}
	quoted := collect.Mapped(lines, func(line permission) string { return fmt.Sprintf("%q", line) })
	what := strings.Join(quoted, " and ")
	if r.client.tokens.isApp() {
		return "grant the GitHub App " + what + ", and accept that in its installation"
	}
	return "grant the token access: in a workflow add " + what + " to its permissions"
}
