package sandbox

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Role is a person's role in a repository.
type Role string

// GitHub's roles. Each includes those before it.
const (
	RoleNone     Role = "none"
	RoleRead     Role = "read"
	RoleTriage   Role = "triage"
	RoleWrite    Role = "write"
	RoleMaintain Role = "maintain"
	RoleAdmin    Role = "admin"
)

var roles = []Role{RoleNone, RoleRead, RoleTriage, RoleWrite, RoleMaintain, RoleAdmin}

// includes reports whether the role has all rights of the other.
func (r Role) includes(other Role) bool { return slices.Index(roles, r) >= slices.Index(roles, other) }

// permission is the role in the API's older words, of which there are three:
// triage becomes read, and maintain becomes write.
func (r Role) permission() string {
	switch r {
	case RoleTriage:
		return "read"
	case RoleMaintain:
		return "write"
	}
	return string(r)
}

// Settings are the choices of a repository's administrators.
type Settings struct {
	// Private hides the repository from people without a role in it.
	Private bool
	// Internal shows a private one to the members of the enterprise.
	Internal bool
	// Topics and Properties describe the repository. The values of custom
	// properties are texts or lists of texts.
	Topics     []string
	Properties map[string]any
	// DiskUsage is the repository's size in GraphQL, in kilobytes.
	DiskUsage int `yaml:"disk_usage"`
	// People are roles by login. By default the owner is an admin and monalisa
	// may write, except in forks. Everyone else may read a public repository.
	People map[string]Role
	// Teams are the slugs of the teams that can be asked for a review.
	Teams []string
	// Labels are the first labels of the repository.
	Labels []string
	// Milestones are titles; the first has number 1.
	Milestones []string
	// ForbidActionsPulls keeps workflows from opening pull requests with their
	// GITHUB_TOKEN. It is GitHub's default for new repositories.
	ForbidActionsPulls bool `yaml:"forbid_actions_pulls"`
	// AutoMerge lets GitHub merge pull requests once the conditions hold.
	AutoMerge bool `yaml:"auto_merge"`
	// Unprotected means that no check or review guards a merge. GitHub then
	// refuses auto-merge.
	Unprotected bool
	// TooSoon is the number of refusals of auto-merge after a pull request is
	// opened. GitHub refuses until it knows what to wait for
	// [peter-evans/enable-pull-request-automerge#343 and #355].
	TooSoon int `yaml:"too_soon"`
	// MergeStates says when GitHub computes the state of a merge. "never": not at
	// all. "stale": the first answer is the former state. Empty: the first answer
	// is UNKNOWN.
	MergeStates string `yaml:"merge_states"`
	// Protect is the protection of each branch.
	Protect map[string]Protection
	// Rules are rulesets about names of branches.
	Rules []BranchRule
	// NoIssues means that issues are switched off.
	NoIssues bool `yaml:"no_issues"`
	// Archived makes the repository read-only.
	Archived bool
	// Unlisted keeps the repository out of lists of GraphQL.
	Unlisted Unlisted
	// DeleteMerged deletes the branch of a merged pull request.
	DeleteMerged bool `yaml:"delete_merged"`
}

// check returns an error if a person's settings are wrong.
func (s Settings) check() error {
	for _, login := range slices.Sorted(maps.Keys(s.People)) {
		if !slices.Contains(roles, s.People[login]) {
			return fmt.Errorf("%s has the unknown role %q: it must be one of %v", login, s.People[login], roles)
		}
	}
	return nil
}

// Configure changes the settings of a repository.
func (g *GitHub) Configure(repo string, change func(*Settings)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.repository(repo)
	if err != nil {
		return err
	}
	changed := r.settings
	changed.People = maps.Clone(changed.People)
	change(&changed)
	if err := changed.check(); err != nil {
		return err
	}
	r.settings = changed
	return nil
}

// SetRole gives a person a role in a repository, or removes it.
func (g *GitHub) SetRole(repo, login string, role Role) error {
	return g.Configure(repo, func(s *Settings) {
		if s.People == nil {
			s.People = map[string]Role{}
		}
		s.People[login] = role
	})
}

// role is what the person may do in the repository.
func (r *gitRepository) role(login string) Role {
	for name, role := range r.settings.People {
		if strings.EqualFold(name, login) {
			return role
		}
	}
	switch {
	case login == "" && r.settings.Private:
		return RoleNone
	case strings.EqualFold(login, r.owner):
		return RoleAdmin
	case login == firstUser && r.parent == nil:
		return RoleWrite
	case r.settings.Private:
		return RoleNone
	}
	return RoleRead
}

// right is the right that an endpoint demands.
type right struct {
	// permissions are alternatives: a token needs one of them. The header
	// X-Accepted-GitHub-Permissions lists them: "issues=write;
	// pull_requests=write".
	permissions string
	role        Role // that a person needs
}

// The rights that endpoints demand. The zero right demands nothing.
var (
	seeRepository  = right{"metadata=read", RoleRead}
	readContents   = right{"contents=read", RoleRead}
	writeContents  = right{"contents=write", RoleWrite}
	readPulls      = right{"pull_requests=read", RoleRead}
	proposeChanges = right{"pull_requests=write", RoleRead}
	reviewChanges  = right{"pull_requests=write", RoleTriage}
	readTalk       = right{"issues=read; pull_requests=read", RoleRead}
	talk           = right{"issues=write; pull_requests=write", RoleRead}
	talkOnIssue    = right{"issues=write", RoleRead}
	triage         = right{"issues=write; pull_requests=write", RoleTriage}
	readIssues     = right{"issues=read; pull_requests=read", RoleRead}
	createLabels   = right{"issues=write", RoleWrite}
)

// sees reports whether the repository exists for the caller.
func (c *apiCall) sees(r *gitRepository) bool {
	switch {
	case !r.settings.Private:
		return true
	case c.who.Bot:
		return c.who.reaches(r)
	}
	return r.role(c.who.Login) != RoleNone
}

// reaches reports whether the token is for the repository.
func (who Identity) reaches(r *gitRepository) bool {
	return who.Repositories == nil || slices.ContainsFunc(who.Repositories, func(name string) bool {
		return strings.EqualFold(name, r.fullName())
	})
}

// workflow reports whether the token is a GITHUB_TOKEN.
func (who Identity) workflow() bool { return who.Login == actionsBot }

// may reports whether the caller has the right in a repository that it sees.
func (c *apiCall) may(r *gitRepository, need right) bool {
	if c.who.Permissions != nil && !c.permits(r, need) {
		return false
	}
	return c.who.Bot || r.role(c.who.Login).includes(need.role) || need == writeContents && c.hub.mayAmendFork(r, c.who.Login, "")
}

// permits checks the permissions of a token. Any token can read a public
// repository. A GITHUB_TOKEN is for the repository of its workflow, which is no
// fork in the sandbox.
func (c *apiCall) permits(r *gitRepository, need right) bool {
	reaches := c.who.reaches(r) && !(c.who.workflow() && r.parent != nil)
	for alternative := range strings.SplitSeq(need.permissions, "; ") {
		name, level, _ := strings.Cut(alternative, "=")
		has := c.who.Permissions[name]
		switch {
		case level == "read" && (!r.settings.Private || name == "metadata"):
			return true
		case reaches && (has == "write" || has == level):
			return true
		}
	}
	return false
}

// mayAmendFork reports whether a person without a role in a fork may push to its
// branch. A pull request from the branch may allow it to maintainers of the
// parent. An empty branch matches any: commits and trees are made before their
// branch moves.
func (g *GitHub) mayAmendFork(fork *gitRepository, login, branch string) bool {
	if fork.parent == nil || !fork.parent.role(login).includes(RoleWrite) {
		return false
	}
	return slices.ContainsFunc(fork.parent.open(), func(p *pullRequest) bool {
		return p.headRepo == fork && p.modifiable && (branch == "" || branch == p.head)
	})
}

// mayMove reports whether the caller may push to a ref of the repository.
func (c *apiCall) mayMove(r *gitRepository, name plumbing.ReferenceName) bool {
	if !c.may(r, writeContents) {
		return false
	}
	return c.who.Bot || r.role(c.who.Login).includes(RoleWrite) ||
		name.IsBranch() && c.hub.mayAmendFork(r, c.who.Login, name.Short())
}

// refuse refuses as GitHub does, without details.
func (c *apiCall) refuse() error {
	switch {
	case c.who.Login == "":
		return refusal(http.StatusUnauthorized, "Requires authentication")
	case c.who.Bot:
		return errIntegration
	case c.who.Permissions != nil:
		return refusal(http.StatusForbidden, "Resource not accessible by personal access token")
	}
	return errNotFound
}

var errIntegration = refusal(http.StatusForbidden, "Resource not accessible by integration")

// getPermission returns a person's role, to callers who may push.
func (c *apiCall) getPermission() (any, error) {
	if c.who.Login == "" {
		return nil, c.refuse()
	}
	if !c.who.Bot && !c.repo.role(c.who.Login).includes(RoleWrite) {
		return nil, refusal(http.StatusForbidden, "Must have push access to view collaborator permission.")
	}
	login := c.PathValue("login")
	if strings.HasSuffix(login, "[bot]") {
		return nil, refusal(http.StatusNotFound, login+" is not a user")
	}
	role := c.repo.role(login)
	user := c.userDoc(login)
	user["permissions"], user["role_name"] = permissionsDoc(role), role
	return doc{"permission": role.permission(), "role_name": role, "user": user}, nil
}

// permissionsDoc is a role in the five words of a repository's permissions.
func permissionsDoc(role Role) doc {
	return doc{
		"admin": role.includes(RoleAdmin), "maintain": role.includes(RoleMaintain), "push": role.includes(RoleWrite),
		"triage": role.includes(RoleTriage), "pull": role.includes(RoleRead),
	}
}

// roleOf is the caller's role in a repository. For a token of no person, the
// permissions decide.
func (c *apiCall) roleOf(r *gitRepository) Role {
	switch {
	case !c.who.Bot:
		return r.role(c.who.Login)
	case c.permits(r, writeContents):
		return RoleWrite
	}
	return RoleRead
}
