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

func addRule(c *Settings, s Setting, r Item) {
	rule := policy.Rule{Place: r.Place}
	fill(&rule, s.Fields, r)
	c.Policy.Rules = append(c.Policy.Rules, rule)
}

// ruleActs refuses two kinds of rules: one without any effect, and one that makes platforms
// depend on something that they cannot depend on.
func ruleActs(s Setting, _ []Item, r Item) error {
	if r.has("platforms") {
		switch {
		case r.Fields["platforms"].empty():
			return errors.New("platforms is empty; it must be a list like [linux_amd64, darwin_arm64]")
		case r.has("update-types"):
			return errors.New("platforms do not depend on the kind of an update; put them in a rule without update-types")
		}
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

// givenGroup is a group with the settings of its pull request.
type givenGroup struct {
	group policy.Group
	pull  PullRequest
}

// addGroups adds groups. Settings of all pull requests apply where a group has none. It
// refuses auto-merge of drafts, as GitHub does.
func (c *Settings) addGroups(fields []Setting, given Value) []problem.Problem {
	const message = "a draft is not merged: GitHub refuses auto-merge for it"
	const hint = "set draft or auto-merge, not both"
	var problems []problem.Problem
	if c.PullRequest.Draft && c.PullRequest.AutoMerge != "" {
		at := c.Places["pull-request.auto-merge"]
		problems = append(problems, problem.Problem{Code: problem.CodeSettings, Message: message, Hint: hint, Place: at})
	}
	for _, r := range given.Items {
		g := givenGroup{group: policy.Group{Place: r.Place}, pull: c.PullRequest}
		fill(&g, fields, r)
		g.pull.CreateLabels = g.pull.CreateLabels || r.has("labels")
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
func groupSelects(_ Setting, before []Item, r Item) error {
	for _, other := range before {
		if other.key() == r.key() {
			return fmt.Errorf("there is another group %q, %s", r.key(), other.Place.String())
		}
	}
	if r.Fields["providers"].empty() && r.Fields["directories"].empty() {
		return errors.New("the group takes everything; it must name providers or directories")
	}
	return nil
}

func addRegistry(c *Settings, s Setting, r Item) {
	registry := Registry{Host: must(svchost.ForComparison(r.Name)), Place: r.Place}
	fill(&registry, s.Fields, r)
	c.Registries = append(c.Registries, registry)
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
