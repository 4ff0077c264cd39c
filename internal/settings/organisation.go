package settings

import "github.com/relock-dev/relock/internal/verbs"

// Organisation says which repositories of an owner a run is about.
type Organisation struct {
	Owner  string      `flag:"org" input:"org"` // empty: none
	Where  []Condition `key:"where" flag:"where" input:"where"`
	MaxNew int         `key:"max-new" flag:"max-new" input:"max-new"` // pull requests that a run opens
	Memory string      `flag:"fleet" input:"fleet"`                   // path; empty: none
	Shard  Shard       `flag:"shard" input:"shard"`                   // that the run is about
	Pause  bool        `key:"pause"`                                  // no run does anything
}

func (o *Organisation) rows() []Setting {
	return []Setting{
		{field: &o.Owner, check: isOwner, Verbs: []verbs.Verb{verbs.PR},
			Doc: "Organisation, or user, whose repositories are read from GitHub. It takes a GitHub App that is installed there, or somebody's token. Empty: none."},
		{field: &o.Where, Operator: true, read: each(ParseCondition), Verbs: []verbs.Verb{verbs.PR},
			Doc: "Conditions on the repositories of an organisation, like topic=terraform, name=infra-*, visibility=private, property.team=platform, or file!=.norelock for those without that file; fork=any takes forks, too. Of several conditions with one key, one must hold. A repository that has what a != names is left out."},
		{field: &o.MaxNew, Default: "50", Min: 1, Operator: true, Verbs: []verbs.Verb{verbs.PR},
			Doc: "How many pull requests a run opens at most over all repositories of an organisation. The others wait."},
		{field: &o.Memory, Verbs: []verbs.Verb{verbs.PR},
			Doc: "File that remembers the repositories of an organisation, so that unchanged ones are not read. It names private repositories: keep it out of caches that others share. Empty: none."},
		{field: &o.Shard, read: one(optional(parseShard)), Verbs: []verbs.Verb{verbs.PR},
			Doc: "One of the parts into which the ids of the repositories divide an organisation, like 3/8. It has as much of max-new and of GitHub's limits. Empty: the whole."},
		{field: &o.Pause, Operator: true,
			Doc: "Do nothing in the repositories of an organisation, and say so. A person who may change the file can stop every run at once."},
	}
}

// Shard is one of the parts of an organisation, Number of Of. The zero value is the whole.
type Shard struct{ Number, Of int }
