package sandbox

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Role is what a person may do in a repository.
type Role string

// The roles that GitHub has, each of which includes those before it.
const (
	RoleNone     Role = "none"
	RoleRead     Role = "read"
	RoleTriage   Role = "triage"
	RoleWrite    Role = "write"
	RoleMaintain Role = "maintain"
	RoleAdmin    Role = "admin"
)

var roles = []Role{RoleNone, RoleRead, RoleTriage, RoleWrite, RoleMaintain, RoleAdmin}

// includes reports whether anyone who has this role may do what the other may.
func (r Role) includes(other Role) bool { return slices.Index(roles, r) >= slices.Index(roles, other) }

// permission is the role in the words of the API before there were more than
// three, in which triage reads as read and maintain as write.
func (r Role) permission() string {
	switch r {
	case RoleTriage:
		return "read"
	case RoleMaintain:
		return "write"
	}
	return string(r)
}

// Settings are what the administrators of a repository have chosen.
type Settings struct {
	// Private hides the repository from those who have no role in it.
	Private bool
	// Internal shows a private one to the members of the enterprise.
	Internal bool
	// Topics and Properties say what the repository is about: the values of custom
	// properties are texts or lists of them.
	Topics     []string
	Properties map[string]any
	// DiskUsage is what GraphQL says of the repository's size, in kilobytes.
	DiskUsage int `yaml:"disk_usage"`
	// People are roles by login. The owner is an admin and monalisa may write,
	// except in forks, unless this says otherwise. Everyone else may read what
	// is not private.
	People map[string]Role
	// Teams are the slugs of those that can be asked for a review.
	Teams []string
	// Labels are those that the repository has from the beginning.
	Labels []string
	// Milestones are titles, of which the first has number 1.
	Milestones []string
	// ForbidActionsPulls keeps workflows from opening pull requests with their
	// GITHUB_TOKEN, as a new repository does on GitHub.
	ForbidActionsPulls bool `yaml:"forbid_actions_pulls"`
	// AutoMerge lets pull requests be merged by GitHub once they may be.
	AutoMerge bool `yaml:"auto_merge"`
	// Unprotected says that no check or review guards a merge, in which
	// case GitHub refuses to wait for one.
	Unprotected bool
	// TooSoon is how often auto-merge is refused after the opening of a pull
	// request, which GitHub does until it knows what there is to wait for
	// [peter-evans/enable-pull-request-automerge#343 and #355].
	TooSoon int `yaml:"too_soon"`
	// MergeStates is how late GitHub computes the state of a merge: never, or stale for what
	// was so before; empty: the first who asks learns UNKNOWN.
	MergeStates string `yaml:"merge_states"`
	// Protect is what branches demand of pull requests for them.
	Protect map[string]Protection
	// Rules are rulesets about names of branches.
	Rules []BranchRule
	// NoIssues says that issues are switched off.
	NoIssues bool `yaml:"no_issues"`
	// Archived lets everybody read and nobody write.
	Archived bool
	// Unlisted is what keeps the repository out of lists that GraphQL gives.
	Unlisted Unlisted
	// DeleteMerged deletes the branch of a pull request that is merged.
	DeleteMerged bool `yaml:"delete_merged"`
}

// check says what is wrong in settings that a person wrote.
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

// SetRole gives a person a role in a repository, or withdraws it.
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

// right is what an endpoint demands.
type right struct {
	// permissions are those of which a token needs one, as the header
	// X-Accepted-GitHub-Permissions lists them: "issues=write; pull_requests=write".
	permissions string
	role        Role // of a person
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

// permits compares the permissions of a token. What is public can be read with
// any token. A GITHUB_TOKEN ends at the repository of its workflow, which is
// no fork in the sandbox.
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

// mayAmendFork reports whether a person who has no role in a fork may push to
// its branch all the same, because a pull request from there lets maintainers
// of the parent do so. An empty branch stands for any: commits and trees are
// made before their branch moves.
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

// refuse says no as GitHub does, which tells people nothing of what they may
// not do.
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

// getPermission answers what a person may do here, to those who may push.
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

// roleOf is the caller's role in a repository. A token of no person has that
// which its permissions amount to.
func (c *apiCall) roleOf(r *gitRepository) Role {
	switch {
	case !c.who.Bot:
		return r.role(c.who.Login)
	case c.permits(r, writeContents):
		return RoleWrite
	}
	return RoleRead
}
