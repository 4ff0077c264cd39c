package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Registry says where the credentials for a host are.
type Registry struct {
	Host     svchost.Hostname
	TokenEnv string `key:"token-env"` // name of the environment variable that holds the token
	Place    problem.Place
}

func registryRows(r *Registry) []Setting {
	return []Setting{
		{field: &r.TokenEnv, Required: true, check: isTokenEnv,
			Doc: "Name of the environment variable that holds the token, like RELOCK_TOKEN_EXAMPLE. It begins with RELOCK_TOKEN_, so that no other secret of the runner can be sent."},
	}
}

func (r *Registry) setName(name string) { r.Host = must(svchost.ForComparison(name)) }

func ruleRows(r *policy.Rule) []Setting {
	return []Setting{
		{field: &r.Where.Providers, Where: true,
			Doc: "Patterns of the providers that the rule is for. Without it: every provider."},
		{field: &r.Modules, Where: true,
			Doc: "Patterns of the modules that the rule is for, as .modules.lock.hcl names them, like git::https://example.com/*. A rule with modules is about no provider."},
		{field: &r.Where.Directories, Where: true, check: globs.IsGlob,
			Doc: "Globs of the directories that the rule is for. Without it: everywhere."},
		{field: &r.Updates, read: each(textOf[provider.Bump]), Where: true, Values: wordsOf(append(slices.Clone(policy.Updates), provider.BumpCommit)...),
			Doc: "The updates that the rule is for: major, minor, patch, and commit of a module that follows a branch. Without it: all of them."},
		{field: &r.Ignore,
			Doc: "Do not take these updates; false takes back what an earlier rule says. Where it is about every update, nobody is asked about a provider whose entry covers the wanted platforms."},
		{field: &r.Allow, read: said(provider.ParseConstraints),
			Doc: "Version constraints that a release must meet, like < 6.0.0."},
		{field: &r.Except, read: said(provider.ParseConstraints),
			Doc: "Version constraints of the releases that are not taken, like >= 6.0.0, < 6.0.3."},
		{field: &r.Moving,
			Doc: "Whether tags of these modules that move are followed, as branches are. Without it such a module stays as it is locked, and the run fails."},
		{field: &r.HoldUntil, read: one(policy.ParseDay),
			Doc: "First day on which these updates are taken, in UTC, like 2027-01-31."},
		{field: &r.MinimumAge, read: said(policy.ParseAge),
			Doc: "How old a release must be, like 12h, 3d or 2w; the newest one that is old enough is taken."},
		{field: &r.UnknownAge, read: one(textOf[policy.UnknownAge]), Values: wordsOf(policy.AllowUnknownAge, policy.HoldUnknownAge),
			Doc: "What to do about a release without a known date if there is a minimum age. Without it: allow."},
		{field: &r.AutoMerge,
			Doc: "Whether a pull request with such an update may merge by itself, where pull-request.auto-merge is set; it does only if every change in it may. Without it: it may."},
		{field: &r.Permitted,
			Doc: "Whether these providers or modules may be locked. With false, check and verify refuse an entry or a requirement of such a provider, and an entry of such a module, and relock neither adds nor changes their entries, and removes those of modules alone, when no call needs them. With true, each pattern must name its host, like registry.terraform.io/hashicorp/*. Without any such rule all may."},
		{field: &r.Platforms, Instead: "platforms", read: whole(addPlatform),
			Doc: "Platforms for these providers, in place of the setting platforms: for example, if a provider is not released for all of those. --platform on the command line outranks it."},
	}
}

// ruleActs refuses a rule without any effect, and one with platforms or permitted for some
// kinds of updates only.
func ruleActs(s Setting, _ []Item, r Item) error {
	if r.has("platforms") {
		switch {
		case r.Fields["platforms"].empty():
			return errors.New("platforms is empty; it must be a list like [linux_amd64, darwin_arm64]")
		case r.has("update-types"):
			return errors.New("platforms do not depend on the kind of an update; put them in a rule without update-types")
		}
	}
	if err := aboutOne(r); err != nil {
		return err
	}
	if err := permitsByHost(r); err != nil {
		return err
	}
	var acts []string // the keys with an effect on releases
	for _, f := range s.Fields {
		switch {
		case f.Where:
		case r.has(f.Name()):
			return nil
		default:
			acts = append(acts, f.Name())
		}
	}
	n := len(acts) - 1
	return fmt.Errorf("the rule does nothing; it must hold %s or %s", strings.Join(acts[:n], ", "), acts[n])
}

// aboutOne refuses a rule about providers and modules at once, and what does not apply to the
// ones or the others.
func aboutOne(r Item) error {
	if !r.has("modules") {
		if r.has("moving") || slices.Contains(r.Fields.Texts("update-types"), string(provider.BumpCommit)) {
			return errors.New("moving and the update type commit are about modules; name some with modules, like git::https://example.com/*")
		}
		return nil
	}
	for _, key := range []string{"providers", "platforms", "auto-merge"} {
		if r.has(key) {
			return fmt.Errorf("%s is about providers, and the rule is about modules; write two rules", key)
		}
	}
	return nil
}

// permitsByHost refuses a rule that permits too many providers. A pattern without a host
// matches every host. In a list of permitted providers it would admit a stranger's provider
// of the same name.
func permitsByHost(r Item) error {
	if !r.has("permitted") {
		return nil
	}
	if r.has("update-types") {
		return errors.New("permitted does not depend on the kind of an update; put it in a rule without update-types")
	}
	if yes, _ := truth(r.Fields.Text("permitted")); !yes {
		return nil
	}
	for _, text := range r.Fields.Texts("modules") {
		literal, _, _ := strings.Cut(text, "*")
		if _, below, schemed := strings.Cut(literal, "://"); schemed && !strings.Contains(below, "/") || !strings.Contains(literal, "/") {
			return fmt.Errorf("with permitted: true, %s would permit such modules of every host; write the host, like registry.terraform.io/acme/*", text)
		}
	}
	for _, text := range r.Fields.Texts("providers") {
		p := must(provider.ParsePattern(text))
		if p.NamesHost() {
			continue
		}
		below := strings.TrimPrefix(p.String(), "*/")
		return fmt.Errorf("with permitted: true, %s would permit such providers of every host; write %s/%s or %s/%s, or the host that you mean",
			text, provider.Terraform.DefaultHost(), below, provider.OpenTofu.DefaultHost(), below)
	}
	return nil
}

// group is an entry of groups: a group with the settings of its pull request.
type group struct {
	policy.Group
	Pull PullRequest
}

// groupRows are the keys of a group: its own, and those of pull-request that differ by group.
func groupRows(g *group) []Setting {
	rows := []Setting{
		{field: &g.Name, Required: true, check: isGroupName, Doc: "Name of the group, as branches and titles show it."},
		{field: &g.Where.Providers, Doc: "Patterns of the providers in the group. Without it, and without modules: every provider."},
		{field: &g.Modules, Doc: "Patterns of the modules in the group, as .modules.lock.hcl names them, like git::https://example.com/*. Such a group takes no provider, except entries that these modules force."},
		{field: &g.Where.Directories, check: globs.IsGlob,
			Doc: "Globs of the directories in the group. Without it: everywhere."},
	}
	for _, s := range g.Pull.rows() {
		if s.grouped != "" {
			rows = append(rows, s)
		}
	}
	return rows
}

// groupFields are the fields of groups.
func groupFields() []Setting {
	fields := fieldsOf(groupRows)
	for i, f := range fields {
		if f.grouped != "" {
			fields[i].Instead = "pull-request." + f.Key
			fields[i].Doc = "Instead of " + fields[i].Instead + f.grouped
		}
	}
	return fields
}

// addGroups adds groups. Settings of all pull requests apply where a group has none. It
// refuses auto-merge of drafts, as GitHub does.
func (c *Settings) addGroups(given []Item) []problem.Problem {
	const message = "a draft is not merged: GitHub refuses auto-merge for it"
	const hint = "set draft or auto-merge, not both"
	groups, _ := lookup(Setting.Name, "groups")
	var problems []problem.Problem
	if c.PullRequest.Draft && c.PullRequest.AutoMerge != "" {
		at := c.Values["pull-request.auto-merge"].Place
		problems = append(problems, refusal(at, hint, message))
	}
	for _, r := range given {
		g := group{Pull: c.PullRequest}
		fillRecord(&g, groups.Fields, r)
		g.Pull.CreateLabels = g.Pull.CreateLabels || r.has("labels")
		c.Policy.Groups = append(c.Policy.Groups, g.Group)
		put(&c.GroupPulls, g.Name, g.Pull)
		if g.Pull.Draft && g.Pull.AutoMerge != "" && len(problems) == 0 {
			problems = append(problems, refusal(r.Place, hint, "group %s: "+message, g.Name))
		}
	}
	return problems
}

// groupSelects refuses a second group of the same name, a group that selects everything, and
// one of providers and modules.
func groupSelects(_ Setting, before []Item, r Item) error {
	if err := another("group", before, r); err != nil {
		return err
	}
	switch {
	case r.Fields["providers"].empty() && r.Fields["directories"].empty() && r.Fields["modules"].empty():
		return errors.New("the group takes everything; it must name providers, modules or directories")
	case r.has("providers") && r.has("modules"):
		return errors.New("the group is about providers and modules; write two groups")
	}
	return nil
}

func otherHost(_ Setting, before []Item, r Item) error {
	host := must(svchost.ForComparison(r.Name))
	for _, other := range before {
		if must(svchost.ForComparison(other.Name)) == host {
			return fmt.Errorf("%s is named twice, also in %s", host.ForDisplay(), other.Place.String())
		}
	}
	return nil
}
