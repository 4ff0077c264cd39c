package settings

import (
	"errors"
	"fmt"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Registry says where the credentials for a host are.
type Registry struct {
	Host     svchost.Hostname
	TokenEnv string // name of the environment variable that holds the token
	Place    problem.Place
}

func addRule(c *Settings, r record) {
	rule := policy.Rule{Place: r.Place}
	r.fill(&rule)
	c.Policy.Rules = append(c.Policy.Rules, rule)
}

// ruleActs refuses two kinds of rules: one without any effect, and one that makes platforms
// depend on something that they cannot depend on.
func ruleActs(_ []record, r record) error {
	if r.has("rules[].platforms") {
		switch {
		case len(r.items("rules[].platforms")) == 0:
			return errors.New("platforms is empty; it must be a list like [linux_amd64, darwin_arm64]")
		case r.has("rules[].update-types"):
			return errors.New("platforms do not depend on the kind of an update; put them in a rule without update-types")
		}
	}
	if err := permitsByHost(r); err != nil {
		return err
	}
	var acts []string // the keys with an effect on releases
	for _, f := range r.fields {
		switch {
		case f.Where:
		case r.has(f.Name()):
			return nil
		default:
			acts = append(acts, last(f.Key))
		}
	}
	n := len(acts) - 1
	return fmt.Errorf("the rule does nothing; it must hold %s or %s", strings.Join(acts[:n], ", "), acts[n])
}

// permitsByHost refuses a rule that permits too many providers. A pattern without a host
// matches every host. In a list of permitted providers it would admit a stranger's provider
// of the same name.
func permitsByHost(r record) error {
	if !r.has("rules[].permitted") {
		return nil
	}
	if r.has("rules[].update-types") {
		return errors.New("permitted does not depend on the kind of an update; put it in a rule without update-types")
	}
	if yes, _ := truth(r.text("rules[].permitted")); !yes {
		return nil
	}
	for _, text := range r.items("rules[].providers") {
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

// givenGroup is a group with the settings of its pull request.
type givenGroup struct {
	group policy.Group
	pull  PullRequest
}

// addGroups adds groups. Settings of all pull requests apply where a group has none. It
// refuses auto-merge of drafts, as GitHub does.
func (c *Settings) addGroups(given []record) []problem.Problem {
	const message = "a draft is not merged: GitHub refuses auto-merge for it"
	const hint = "set draft or auto-merge, not both"
	var problems []problem.Problem
	if c.PullRequest.Draft && c.PullRequest.AutoMerge != "" {
		at := c.Places["pull-request.auto-merge"]
		problems = append(problems, problem.Problem{Code: problem.CodeSettings, Message: message, Hint: hint, Place: at})
	}
	for _, r := range given {
		g := givenGroup{group: policy.Group{Place: r.Place}, pull: c.PullRequest}
		r.fill(&g)
		g.pull.CreateLabels = g.pull.CreateLabels || r.has("groups[].labels")
		c.Policy.Groups = append(c.Policy.Groups, g.group)
		if c.GroupPulls == nil {
			c.GroupPulls = map[string]PullRequest{}
		}
		c.GroupPulls[g.group.Name] = g.pull
		if g.pull.Draft && g.pull.AutoMerge != "" && len(problems) == 0 {
			problems = append(problems, problem.Problem{
				Code: problem.CodeSettings, Message: "group " + g.group.Name + ": " + message, Hint: hint, Place: r.Place,
			})
		}
	}
	return problems
}

// groupSelects refuses a second group of the same name, and a group that selects
// everything.
func groupSelects(before []record, r record) error {
	for _, other := range before {
		if name := r.text("groups[].name"); other.text("groups[].name") == name {
			return fmt.Errorf("there is another group %q, %s", name, other.Place.String())
		}
	}
	if len(r.items("groups[].providers"))+len(r.items("groups[].directories")) == 0 {
		return errors.New("the group takes everything; it must name providers or directories")
	}
	return nil
}

func addRegistry(c *Settings, r record) {
	registry := Registry{Host: must(svchost.ForComparison(r.name)), Place: r.Place}
	r.fill(&registry)
	c.Registries = append(c.Registries, registry)
}

func otherHost(before []record, r record) error {
	host := must(svchost.ForComparison(r.name))
	for _, other := range before {
		if must(svchost.ForComparison(other.name)) == host {
			return fmt.Errorf("%s is named twice, also in %s", host.ForDisplay(), other.Place.String())
		}
	}
	return nil
}
