package settings

import (
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/verbs"
)

// The verbs that share flags.
var (
	everyVerb = []verbs.Verb{verbs.Scan, verbs.Why, verbs.Upgrade, verbs.Lock, verbs.Check, verbs.Verify, verbs.Diff, verbs.PR, verbs.Comment}
	reporting = []verbs.Verb{verbs.Upgrade, verbs.Lock, verbs.Check, verbs.Verify, verbs.Diff, verbs.PR, verbs.Comment}
	scanning  = []verbs.Verb{verbs.Scan, verbs.Why, verbs.Upgrade, verbs.Lock, verbs.Check, verbs.PR}
	planning  = []verbs.Verb{verbs.Upgrade, verbs.Lock, verbs.Check, verbs.PR}
	hashing   = append(slices.Clone(planning), verbs.Comment, verbs.Verify)
	reading   = append(slices.Clone(scanning), verbs.Verify)
	judging   = append(slices.Clone(planning), verbs.Verify)
	verifying = []verbs.Verb{verbs.Verify}
	proving   = []verbs.Verb{verbs.Verify, verbs.Comment}
)

// All is the table of settings, in the order in which people read it. It must not be
// changed.
var All = []Setting{
	{
		Key: "version", Kind: Number, Default: "1",
		Doc:  "Version of the configuration file's format.",
		take: asOne(asGiven(isVersion1), func(*Settings) *string { return new(string) }),
	},
	{
		Key: "include", Kind: List, Default: "**",
		Doc:  "Globs of the directories in which root modules are searched. ** enters no node_modules and no directory whose name begins with a dot: write out such a name, as in .infra/**.",
		take: asTexts(globs.IsGlob, func(c *Settings) *[]string { return &c.Include }),
	},
	{
		Key: "exclude", Kind: List,
		Doc:  "Globs of directories that a search leaves out. Reports count their lock files, and verify does not judge them.",
		take: asTexts(globs.IsGlob, func(c *Settings) *[]string { return &c.Exclude }),
	},
	{
		Input: "directories", Kind: List,
		Doc:  "Directories of root modules, patterns like prod/*, or DIR/... to search below one. Empty: the whole repository is searched.",
		take: asTexts(anyText, func(c *Settings) *[]string { return &c.Directories }),
	},
	{
		Key: "tool", Flag: "tool", Input: "tool", Kind: Choice, Default: "auto", Verbs: reading,
		Values: []string{"auto", string(provider.Terraform), string(provider.OpenTofu)},
		Doc:    "Whose rules apply. auto chooses the tool of each root module by its version files, its lock file and .tofu files.",
		take:   asOne(parseTool, func(c *Settings) *provider.ToolName { return &c.Tool }),
	},
	{
		Key: "tool-version", Flag: "tool-version", Input: "tool-version", Kind: Text, Verbs: reading,
		Doc:  "Release of the tool whose rules apply, like 1.11.4. Empty: what a version file of tenv, tfenv, asdf or mise says, else the newest release that relock knows and that required_version allows.",
		take: asOne(optional(provider.ParseVersion), func(c *Settings) *provider.Version { return &c.ToolVersion }),
	},
	{
		Key: "platforms", Flag: "platform", Input: "platforms", Kind: Platforms, Default: "auto", Verbs: judging,
		Doc:  "Platforms that each lock file must cover. all is every platform that a release serves. auto is those that the lock file covers now if there are two or more, else the common ones. A platform that a release does not serve is reported and left out, but fails the provider if the command line names it.",
		take: asPlatforms,
	},
	{
		Flag: "provider", Input: "providers", Kind: List, Verbs: judging,
		Doc:  "Patterns of providers, like hashicorp/aws or */aws. Entries of other providers keep their bytes. Empty: every provider.",
		take: asPatterns(func(c *Settings) *[]provider.Pattern { return &c.Providers }),
	},
	{
		Key: "create", Flag: "create", Kind: Bool, Default: "false", Verbs: scanning,
		Doc:  "Also take root modules that have no lock file; upgrade, lock and pr write one.",
		take: asBool(func(c *Settings) *bool { return &c.Create }),
	},
	{
		Key: "unlocked", Flag: "unlocked", Input: "unlocked", Kind: Choice, Default: "warn", Verbs: reading,
		Values: []string{"warn", "fail", "ignore"},
		Doc:    "What to do about root modules that a search finds without a lock file, unless create writes one. warn names them; fail names them and fails the run; ignore says nothing.",
		take:   asText(func(c *Settings) *string { return &c.Unlocked }),
	},
	{
		Key: "keep", Kind: List,
		Doc:  "Patterns of providers whose entries stay in a lock file although no configuration requires them, because a state still does.",
		take: asPatterns(func(c *Settings) *[]provider.Pattern { return &c.Keep }),
	},
	{
		Flag: "keep-unreferenced", Kind: Bool, Default: "false", Verbs: []verbs.Verb{verbs.Upgrade, verbs.Check, verbs.Verify, verbs.PR},
		Doc:  "Keep every entry that no configuration requires.",
		take: asBool(func(c *Settings) *bool { return &c.KeepUnreferenced }),
	},
	{
		Key: "hashes-from", Flag: "hashes-from", Kind: Choice, Default: "methods", Verbs: planning,
		Values: []string{"methods", "origin", "both"},
		Doc:    "Where hashes come from: the installation methods of the CLI configuration, the provider's own registry, or both.",
		take:   asText(func(c *Settings) *string { return &c.HashesFrom }),
	},
	{
		Key: "hash-source", Flag: "hash-source", Kind: Choice, Verbs: hashing,
		Values: []string{"", "opentofu"},
		Doc:    "Whether to trust hashes that a registry reports of packages that were not downloaded. opentofu: trust registry.opentofu.org if the package is in a verified checksum list, and mark such hashes. Empty: only where OpenTofu itself does.",
		take:   asText(func(c *Settings) *string { return &c.HashSource }),
	},
	{
		Key: "verify.accept-re-released", Flag: "accept-re-released", Kind: List, Verbs: judging,
		Doc:  "Releases like hashicorp/aws@5.31.0 whose packages may differ from what was locked: their hashes are replaced. Others are refused.",
		take: asEach(provider.ParseReleasePattern, func(c *Settings) *[]provider.ReleasePattern { return &c.AcceptReReleased }),
	},
	{
		Key: "verify.signers", Kind: Lists,
		Doc:  "Patterns of providers, each with the fingerprints of the keys that may sign their checksum lists, like hashicorp/*: [C874011F0AB405110D02105534365D9472D7468F]. Releases that another key signed, or none, are refused. A provider that several patterns select must be signed by a key that all of them name.",
		take: asWhole(addSigner, func(c *Settings) *provider.Signers { return &c.Signers }),
	},
	{
		Key: "verify.severity", Kind: Map,
		Doc:     "Codes of findings, each with the severity that verify gives them, like unsigned: error. A repository's own file can only make findings worse; the operator's can make them less bad, too.",
		lenient: lessSevere,
		take:    asWhole(addSeverity, func(c *Settings) *map[problem.Code]problem.Severity { return &c.Severities.Raised }),
	},
	{
		Key: "registries", Kind: Named, Operator: true,
		Doc:   "Hosts of registries with the credentials for them. Only the operator's file may have them.",
		check: isHost,
		sound: otherHost,
		build: addRegistry,
		Fields: []Setting{
			{
				Key: "registries.*.token-env", Kind: Text, Required: true,
				Doc:  "Name of the environment variable that holds the token, like RELOCK_TOKEN_EXAMPLE. It begins with RELOCK_TOKEN_, so that no other secret of the runner can be sent.",
				take: asOne(asGiven(isTokenEnv), func(r *Registry) *string { return &r.TokenEnv }),
			},
		},
	},
	{
		Key: "unreadable-modules", Flag: "unreadable-modules", Kind: Choice, Default: "fail", Verbs: planning,
		Values: []string{"fail", "preserve"},
		Doc:    "What to do about a root module if one of its child modules cannot be read. fail leaves it alone and says so; preserve uses the constraints that its lock file records instead, drops nothing, and marks the result as partial.",
		take:   asText(func(c *Settings) *string { return &c.UnreadableModules }),
	},
	{
		Key: "module-vars", Kind: Map, Most: maxSets,
		Doc:   "Values for variables in the source and version of module calls, where the tool evaluates them. They outrank those of .tfvars files. A map holds for every root module. A list has up to 16 sets: a root module is run with one at a time, and its lock file must serve all. They are no secrets.",
		take:  asWhole(addVariable, func(c *Settings) *map[string]string { return &c.ModuleVars }),
		sound: setSoundly,
		build: addVariableSet,
		Fields: []Setting{
			{
				Key: "module-vars[].name", Kind: Text, Required: true,
				Doc:  "Name of the set, as messages have it: up to 50 letters, digits, dots, dashes and underscores.",
				take: asOne(asGiven(isSetName), func(v *VariableSet) *string { return &v.Name }),
			},
			{
				Key: "module-vars[].values", Kind: Map,
				Doc:  "Values by the names of variables.",
				take: asWhole(addVariable, func(v *VariableSet) *map[string]string { return &v.Values }),
			},
			{
				Key: "module-vars[].var-files", Kind: List,
				Doc:  "Paths of variable files, relative to the root module, like envs/prod.tfvars. Later ones win, and values win over all of them. On a pull request's head, they are read from the head.",
				take: asTexts(isVariableFile, func(v *VariableSet) *[]string { return &v.Files }),
			},
			{
				Key: "module-vars[].directories", Kind: List, Where: true,
				Doc:  "Globs of the directories of the root modules that are run with the set. Without it: everywhere.",
				take: asTexts(globs.IsGlob, func(v *VariableSet) *[]string { return &v.Directories }),
			},
		},
	},
	{
		Key: "terragrunt.environments", Kind: Records, Most: maxSets, ByName: true,
		Doc:   "Sets of values that Terragrunt units are run with, each time with another one, up to 16. A unit that reads any of their names is read once for each set, and its lock file must serve all of them. Nothing is read from the runner's environment. They are no secrets.",
		sound: setSoundly,
		build: addEnvironment,
		Fields: []Setting{
			{
				Key: "terragrunt.environments[].name", Kind: Text, Required: true,
				Doc:  "Name of the set, as messages have it: up to 50 letters, digits, dots, dashes and underscores.",
				take: asOne(asGiven(isSetName), func(e *EnvironmentSet) *string { return &e.Name }),
			},
			{
				Key: "terragrunt.environments[].env", Kind: Map,
				Doc:  "What get_env returns, by the names of variables of the environment.",
				take: asWhole(addEnv, func(e *EnvironmentSet) *map[string]string { return &e.Env }),
			},
			{
				Key: "terragrunt.environments[].features", Kind: Map,
				Doc:  "Values of feature flags, by their names, instead of their defaults.",
				take: asWhole(addVariable, func(e *EnvironmentSet) *map[string]string { return &e.Features }),
			},
			{
				Key: "terragrunt.environments[].directories", Kind: List, Where: true,
				Doc:  "Globs of the directories of the units that are run with the set. Without it: everywhere.",
				take: asTexts(globs.IsGlob, func(e *EnvironmentSet) *[]string { return &e.Directories }),
			},
		},
	},
	{
		Input: "module-token", Env: "RELOCK_MODULE_TOKEN", Kind: Text, Secret: true,
		Doc:  "Token with which modules are fetched from this GitHub server by git, where the workflow's own token may not read them. ssh sources there are fetched by https with it.",
		take: asText(func(c *Settings) *string { return &c.ModuleToken }),
	},
	{
		Key: "strict", Flag: "strict", Input: "strict", Kind: Bool, Default: "false", Verbs: hashing,
		Doc:  "Leave a root module untouched if any of its providers fails or any hash would be recorded that no verified checksum list or package proves.",
		take: asBool(func(c *Settings) *bool { return &c.Strict }),
	},
	{
		Key: "downgrades", Input: "downgrades", Kind: Choice, Default: "keep",
		Values: []string{"keep", "allow"},
		Doc:    "What to do if a locked version is no longer offered and only older ones are allowed. keep leaves it and fails the provider, so that a person looks; allow moves it down. Such a pull request is never merged automatically.",
		take:   asWord("allow", func(c *Settings) *bool { return &c.AllowDowngrade }),
	},
	{
		Flag: "allow-downgrade", Kind: Bool, Default: "false", Verbs: []verbs.Verb{verbs.Upgrade, verbs.Check, verbs.PR},
		Doc:  "Move a locked version down if it is no longer offered, as downgrades: allow does.",
		take: asWord("true", func(c *Settings) *bool { return &c.AllowDowngrade }),
	},
	{
		Flag: "exact", Kind: Bool, Default: "false", Verbs: []verbs.Verb{verbs.Upgrade, verbs.Lock},
		Doc:  "Write whenever the tool's own commands would change a byte of the lock file.",
		take: asBool(func(c *Settings) *bool { return &c.Exact }),
	},
	{
		Flag: "prune", Kind: Bool, Default: "false", Verbs: []verbs.Verb{verbs.Lock},
		Doc:  "Drop hashes that belong to no package of the wanted platforms and are in no verified checksum list.",
		take: asBool(func(c *Settings) *bool { return &c.Prune }),
	},
	{
		Key: "check", Input: "check", Kind: Choice, Values: []string{"", "lock", "upgrade"},
		Doc:  "What fails a check. lock: a lock file that is not complete or not in step with the configuration; new releases are reported. upgrade: also one that is not at the newest releases. Empty: lock as a step of a workflow, upgrade on the command line.",
		take: asText(func(c *Settings) *string { return &c.Check }),
	},
	{
		Flag: "touched", Kind: Text, Verbs: []verbs.Verb{verbs.Check},
		Doc:  "Look only at root modules that differ from this revision of the git repository, like origin/main. A changed file beside a root module counts, or beside a local module that it calls. A problem that the revision already has is a warning. If the clone lacks the history, GitHub is asked, for which GITHUB_REPOSITORY and GITHUB_TOKEN must be set.",
		take: asText(func(c *Settings) *string { return &c.Touched }),
	},
	{
		Flag: "lock", Kind: Bool, Default: "false", Verbs: []verbs.Verb{verbs.Check},
		Doc:  "Check what lock would change instead of upgrade, as check: lock does.",
		take: asBool(func(c *Settings) *bool { return &c.Lock }),
	},
	{
		Flag: "fail-on", Input: "fail-on", Kind: Choice, Default: "error", Verbs: verifying,
		Values: []string{"error", "warning", "note"},
		Doc:    "The least severity of a finding with which verify ends with status 4.",
		take:   asOne(problem.ParseSeverity, func(c *Settings) *problem.Severity { return &c.FailOn }),
	},
	{
		Flag: "severity", Kind: List, Verbs: verifying,
		Doc:  "CODE=SEVERITY, the severity of findings of a code: error, warning or note. It outranks what any file says.",
		take: asWhole(addChosenSeverity, func(c *Settings) *map[problem.Code]problem.Severity { return &c.Severities.Chosen }),
	},
	{
		Flag: "ledger", Input: "ledger", Kind: Text, Verbs: proving,
		Doc:  "File that records what was first seen of every release. A difference from it is a finding, and new releases are added. On a pull request's head the file of the base is read, and nothing is added. Empty: none.",
		take: asText(func(c *Settings) *string { return &c.Ledger }),
	},
	{
		Flag: "baseline", Input: "baseline", Kind: Text, Verbs: []verbs.Verb{verbs.Check, verbs.Verify},
		Doc:  "File of the findings of verify and check that are accepted, each with a reason and the day until which it is accepted. On a pull request's head the file of the base is read. Empty: none.",
		take: asText(func(c *Settings) *string { return &c.Baseline }),
	},
	{
		Flag: "max-download", Input: "max-download", Kind: Text, Default: "4GiB", Verbs: append([]verbs.Verb{verbs.Check}, proving...),
		Doc:  "How much verify and check download at most to prove h1 hashes, like 500MiB; 0 downloads nothing. The other hashes are unproven.",
		take: asOne(parseSize, func(c *Settings) *int64 { return &c.MaxDownload }),
	},
	{
		Flag: "offline", Kind: Bool, Default: "false", Verbs: verifying,
		Doc:  "Ask nobody. No hash is proven then; the entries are compared with the configuration alone.",
		take: asBool(func(c *Settings) *bool { return &c.Offline }),
	},
	{
		Flag: "no-cache", Kind: Bool, Default: "false", Verbs: verifying,
		Doc:  "Use no hash cache: every h1 is proven by a package of this run.",
		take: asBool(func(c *Settings) *bool { return &c.NoCache }),
	},
	{
		Flag: "packages", Input: "packages", Kind: Bool, Default: "false", Verbs: proving,
		Doc:  "Look into the packages that the lock files cover. Each must hold one program of the expected name, for its platform by its own header, and nothing that leads out of it. Packages are downloaded for this, as far as max-download goes.",
		take: asBool(func(c *Settings) *bool { return &c.Packages }),
	},
	{
		Flag: "recheck", Input: "recheck", Kind: Number, Default: "0", Verbs: verifying,
		Doc:  "How many packages that the hash cache knows are downloaded and hashed again, to find a cache that somebody has changed.",
		take: asNumber(func(c *Settings) *int { return &c.Recheck }),
	},
	{
		Flag: "why", Kind: List, Verbs: []verbs.Verb{verbs.Scan},
		Doc:  "Patterns of providers; list each of their constraints with its file and line.",
		take: asPatterns(func(c *Settings) *[]provider.Pattern { return &c.Why }),
	},
	{
		Key: "rules", Kind: Records,
		Doc:   "Which releases are taken. Every matching rule applies; later ones outrank earlier ones. No rule moves a version down.",
		sound: ruleActs,
		build: addRule,
		Fields: []Setting{
			{
				Key: "rules[].providers", Kind: List, Where: true,
				Doc:  "Patterns of the providers that the rule is for. Without it: every provider.",
				take: asPatterns(func(r *policy.Rule) *[]provider.Pattern { return &r.Where.Providers }),
			},
			{
				Key: "rules[].directories", Kind: List, Where: true,
				Doc:  "Globs of the directories that the rule is for. Without it: everywhere.",
				take: asTexts(globs.IsGlob, func(r *policy.Rule) *[]string { return &r.Where.Directories }),
			},
			{
				Key: "rules[].update-types", Kind: List, Where: true,
				Values: wordsOf(policy.Updates...),
				Doc:    "The updates that the rule is for: major, minor, patch. Without it: all of them.",
				take:   asEach(textOf[provider.Bump], func(r *policy.Rule) *[]provider.Bump { return &r.Updates }),
			},
			{
				Key: "rules[].ignore", Kind: Bool,
				Doc:  "Do not take these updates; false takes back what an earlier rule says. Where it is about every update, nobody is asked about a provider whose entry covers the wanted platforms.",
				take: asSaid(truth, func(r *policy.Rule) **bool { return &r.Ignore }),
			},
			{
				Key: "rules[].allow-versions", Kind: Text,
				Doc:  "Version constraints that a release must meet, like < 6.0.0.",
				take: asSaid(provider.ParseConstraints, func(r *policy.Rule) **provider.Constraints { return &r.Allow }),
			},
			{
				Key: "rules[].ignore-versions", Kind: Text,
				Doc:  "Version constraints of the releases that are not taken, like >= 6.0.0, < 6.0.3.",
				take: asSaid(provider.ParseConstraints, func(r *policy.Rule) **provider.Constraints { return &r.Except }),
			},
			{
				Key: "rules[].hold-until", Kind: Text,
				Doc:  "First day on which these updates are taken, in UTC, like 2027-01-31.",
				take: asOne(policy.ParseDay, func(r *policy.Rule) *time.Time { return &r.HoldUntil }),
			},
			{
				Key: "rules[].minimum-age", Kind: Text,
				Doc:  "How old a release must be, like 12h, 3d or 2w; the newest one that is old enough is taken.",
				take: asSaid(policy.ParseAge, func(r *policy.Rule) **time.Duration { return &r.MinimumAge }),
			},
			{
				Key: "rules[].age-unknown", Kind: Choice, Values: wordsOf(policy.AllowUnknownAge, policy.HoldUnknownAge),
				Doc:  "What to do about a release without a known date if there is a minimum age. Without it: allow.",
				take: asOne(textOf[policy.UnknownAge], func(r *policy.Rule) *policy.UnknownAge { return &r.UnknownAge }),
			},
			{
				Key: "rules[].auto-merge", Kind: Bool,
				Doc:  "Whether a pull request with such an update may merge by itself, where pull-request.auto-merge is set; it does only if every change in it may. Without it: it may.",
				take: asSaid(truth, func(r *policy.Rule) **bool { return &r.AutoMerge }),
			},
			{
				Key: "rules[].permitted", Kind: Bool,
				Doc:  "Whether these providers may be locked. With false, check and verify refuse an entry or a requirement of them, and relock neither adds, changes nor removes their entries. With true, each pattern must name its host, like registry.terraform.io/hashicorp/*. Without any such rule every provider may.",
				take: asSaid(truth, func(r *policy.Rule) **bool { return &r.Permitted }),
			},
			{
				Key: "rules[].platforms", Kind: List, Instead: "platforms",
				Doc:  "Platforms for these providers, in place of the setting platforms: for example, if a provider is not released for all of those. --platform on the command line outranks it.",
				take: asWhole(addPlatform, func(r *policy.Rule) *[]provider.Platform { return &r.Platforms }),
			},
		},
	},
	{
		Key: "judge", Flag: "judge", Input: "judge", Kind: Choice, Default: "changed", Verbs: []verbs.Verb{verbs.Check, verbs.Verify},
		Values: []string{JudgeOff, JudgeChanged, JudgeAll},
		Doc:    "Which entries check and verify judge by the rules, also those that relock did not write. changed: a refused entry fails the run if the change adds or replaces its version, and is a warning otherwise. all: every refusal fails it.",
		take:   asText(func(c *Settings) *string { return &c.Judge }),
	},
	{
		Key: "group-by", Flag: "group-by", Input: "group-by", Kind: Choice, Default: "all", Verbs: []verbs.Verb{verbs.PR},
		Values: wordsOf(policy.ByAll, policy.ByProvider, policy.ByDirectory, policy.ByNamespace),
		Doc:    "How to group changes that match no named group.",
		take:   asOne(textOf[policy.GroupBy], func(c *Settings) *policy.GroupBy { return &c.Policy.GroupBy }),
	},
	{
		Key: "groups", Kind: Records,
		Doc:   "Named groups of changes, each with a pull request of its own. A change belongs to the first group that matches.",
		sound: groupSelects,
		Fields: []Setting{
			{
				Key: "groups[].name", Kind: Text, Required: true,
				Doc:  "Name of the group, as branches and titles show it.",
				take: asOne(asGiven(isGroupName), func(g *givenGroup) *string { return &g.group.Name }),
			},
			{
				Key: "groups[].providers", Kind: List,
				Doc:  "Patterns of the providers in the group. Without it: every provider.",
				take: asPatterns(func(g *givenGroup) *[]provider.Pattern { return &g.group.Where.Providers }),
			},
			{
				Key: "groups[].directories", Kind: List,
				Doc:  "Globs of the directories in the group. Without it: everywhere.",
				take: asTexts(globs.IsGlob, func(g *givenGroup) *[]string { return &g.group.Where.Directories }),
			},
			{
				Key: "groups[].labels", Kind: List, Instead: "pull-request.labels",
				Doc:  "Instead of pull-request.labels.",
				take: asTexts(isLabel, func(g *givenGroup) *[]string { return &g.pull.Labels }),
			},
			{
				Key: "groups[].reviewers", Kind: List, Instead: "pull-request.reviewers",
				Doc:  "Instead of pull-request.reviewers.",
				take: asTexts(isLogin, func(g *givenGroup) *[]string { return &g.pull.Reviewers }),
			},
			{
				Key: "groups[].team-reviewers", Kind: List, Instead: "pull-request.team-reviewers",
				Doc:  "Instead of pull-request.team-reviewers.",
				take: asTexts(isTeam, func(g *givenGroup) *[]string { return &g.pull.TeamReviewers }),
			},
			{
				Key: "groups[].assignees", Kind: List, Instead: "pull-request.assignees",
				Doc:  "Instead of pull-request.assignees.",
				take: asTexts(isLogin, func(g *givenGroup) *[]string { return &g.pull.Assignees }),
			},
			{
				Key: "groups[].milestone", Kind: Text, Instead: "pull-request.milestone",
				Doc:  "Instead of pull-request.milestone.",
				take: asText(func(g *givenGroup) *string { return &g.pull.Milestone }),
			},
			{
				Key: "groups[].draft", Kind: Bool, Instead: "pull-request.draft",
				Doc:  "Instead of pull-request.draft.",
				take: asBool(func(g *givenGroup) *bool { return &g.pull.Draft }),
			},
			{
				Key: "groups[].auto-merge", Kind: Choice, Instead: "pull-request.auto-merge", Values: []string{"", "squash", "merge", "rebase"},
				Doc:  "Instead of pull-request.auto-merge.",
				take: asText(func(g *givenGroup) *string { return &g.pull.AutoMerge }),
			},
			{
				Key: "groups[].limit", Kind: Number, Instead: "pull-request.limit", Min: 1,
				Doc:  "Instead of pull-request.limit: how many pull requests of relock may be open when this one is opened.",
				take: asNumber(func(g *givenGroup) *int { return &g.pull.Limit }),
			},
		},
	},
	{
		Key: "pull-request.branch-prefix", Kind: Text, Default: "relock/",
		Doc:  "What the names of relock's branches begin with.",
		take: asOne(asGiven(isBranchPrefix), func(c *Settings) *string { return &c.PullRequest.BranchPrefix }),
	},
	{
		Key: "pull-request.base", Kind: List, Single: true,
		Doc:  "Branches that pull requests are made against. Empty: the default branch.",
		take: asTexts(isBranch, func(c *Settings) *[]string { return &c.PullRequest.Base }),
	},
	{
		Key: "pull-request.title", Kind: Text,
		Doc:  "Template of titles, like \"chore(deps): {{changes}}\", in quotes. Placeholders are " + placeholderDocs() + ". Empty: relock's own words.",
		take: asOne(readTemplate, func(c *Settings) *Template { return &c.PullRequest.Title }),
	},
	{
		Key: "pull-request.labels", Kind: List, Default: "dependencies,terraform",
		Doc:  "Labels of pull requests. relock creates a label that you name here, which takes \"issues: write\". It sets a default label only if the repository has it.",
		take: asTexts(isLabel, func(c *Settings) *[]string { return &c.PullRequest.Labels }),
	},
	{
		Key: "pull-request.reviewers", Kind: List,
		Doc:  "Users whose review is requested.",
		take: asTexts(isLogin, func(c *Settings) *[]string { return &c.PullRequest.Reviewers }),
	},
	{
		Key: "pull-request.team-reviewers", Kind: List,
		Doc:  "Teams of the organisation whose review is requested, each by the last part of its address. The workflow's own token may not do so; that of an App may.",
		take: asTexts(isTeam, func(c *Settings) *[]string { return &c.PullRequest.TeamReviewers }),
	},
	{
		Key: "pull-request.assignees", Kind: List,
		Doc:  "Users to whom pull requests are assigned.",
		take: asTexts(isLogin, func(c *Settings) *[]string { return &c.PullRequest.Assignees }),
	},
	{
		Key: "pull-request.milestone", Kind: Text,
		Doc:  "Title of the milestone of pull requests. Empty: none.",
		take: asText(func(c *Settings) *string { return &c.PullRequest.Milestone }),
	},
	{
		Key: "pull-request.draft", Kind: Bool, Default: "false",
		Doc:  "Open pull requests as drafts.",
		take: asBool(func(c *Settings) *bool { return &c.PullRequest.Draft }),
	},
	{
		Key: "pull-request.auto-merge", Kind: Choice, Values: []string{"", "squash", "merge", "rebase"},
		Doc:  "How GitHub merges pull requests by itself once its requirements are met. The repository must allow auto-merge, and GitHub refuses it for drafts. A person must merge one with a downgrade, another signer, a hash that nothing accounts for or a module that could not be read. The same holds if a root module of its group failed in the run. Empty: not at all.",
		take: asText(func(c *Settings) *string { return &c.PullRequest.AutoMerge }),
	},
	{
		Key: "pull-request.rebase-when", Kind: Choice, Default: "auto", Values: []string{"auto", "behind-base", "conflicted"},
		Doc:  "When to bring a pull request up to date with its base although its proposal is the same. auto: if only that keeps it from being merged, and it is approved or set to merge by itself. behind-base: whenever the base demands branches that are up to date, which may run every check each night. conflicted: never. A branch with another proposal or a conflict is always made again.",
		take: asText(func(c *Settings) *string { return &c.PullRequest.RebaseWhen }),
	},
	{
		Key: "pull-request.limit", Kind: Number, Default: "10", Min: 1,
		Doc:  "How many pull requests of relock may be open at once in a repository; the others wait.",
		take: asNumber(func(c *Settings) *int { return &c.PullRequest.Limit }),
	},
	{
		Key: "pull-request.commit-message", Kind: Text,
		Doc:  "Template of the first line of commit messages, with the placeholders of the title. Empty: relock's own words, with a prefix if the repository's commits have one.",
		take: asOne(readTemplate, func(c *Settings) *Template { return &c.PullRequest.CommitMessage }),
	},
	{
		Key: "pull-request.release-notes", Kind: Bool, Default: "true",
		Doc:  "Show the release notes of upgrades in the pull request. They are read from the GitHub server that the run speaks to.",
		take: asBool(func(c *Settings) *bool { return &c.PullRequest.ReleaseNotes }),
	},
	{
		Key: "dashboard.issue", Kind: Bool, Default: "false",
		Doc:  "Keep one issue, \"Lock files at a glance\". It lists what waits, is held back, was closed by a person, was not read, or breaks a rule. Its boxes ask for what waits. It takes \"issues: write\". While the issue is closed, relock writes nothing to it.",
		take: asBool(func(c *Settings) *bool { return &c.Dashboard.Issue }),
	},
	{
		Key: "dashboard.labels", Kind: List,
		Doc:  "Labels that the issue gets when it is opened. Those that do not exist are created.",
		take: asTexts(isLabel, func(c *Settings) *[]string { return &c.Dashboard.Labels }),
	},
	{
		Key: "comments.via-apps", Kind: Bool, Default: "true",
		Doc:  "Whether commands count in comments that a GitHub App writes in a person's name. With false such comments do nothing. It is read from the base branch of the pull request.",
		take: asBool(func(c *Settings) *bool { return &c.CommandsViaApps }),
	},
	{
		Input: "command", Kind: Choice, Default: "auto",
		Values: []string{"auto", "pr", "check", "verify", "upgrade", "lock", "scan", "comment"},
		Doc:    "What to run. auto picks it from the event: pr on a schedule or by hand, check on pushes and pull requests, comment on comments.",
		take:   asText(func(c *Settings) *string { return &c.Command }),
	},
	{
		Flag: "dry-run", Input: "dry-run", Kind: Bool, Default: "false", Verbs: []verbs.Verb{verbs.PR},
		Doc:  "Say what would be proposed and change nothing on GitHub.",
		take: asBool(func(c *Settings) *bool { return &c.DryRun }),
	},
	{
		Input: "token", Env: "GITHUB_TOKEN", Kind: Text, Secret: true, InputDefault: "${{ github.token }}",
		Doc:  "Token for GitHub's API. Workflows on the pull requests of the workflow's own token wait for an approval.",
		take: asText(func(c *Settings) *string { return &c.Token }),
	},
	{
		Input: "app-id", Env: "RELOCK_APP_ID", Kind: Text,
		Doc:  "ID of a GitHub App that acts instead of the token. Workflows on its pull requests need no approval.",
		take: asOne(asGiven(isAppID), func(c *Settings) *string { return &c.App.ID }),
	},
	{
		Input: "app-private-key", Env: "RELOCK_APP_PRIVATE_KEY", Kind: Text, Secret: true, Block: true,
		Doc:  "Private key of the GitHub App, in PEM form.",
		take: asOne(asGiven(isPrivateKey), func(c *Settings) *string { return &c.App.Key }),
	},
	{
		Input: "app-installation-id", Env: "RELOCK_APP_INSTALLATION_ID", Kind: Number, Default: "0",
		Doc:  "Installation of the GitHub App; 0 takes that of the repository.",
		take: asOne(parseInstallation, func(c *Settings) *int64 { return &c.App.Installation }),
	},
	{
		Flag: "repo", Input: "repositories", Kind: List, Verbs: []verbs.Verb{verbs.PR, verbs.ConfigShow},
		Doc:  "Repositories, as OWNER/NAME, that are read from GitHub instead of a checkout. Empty: the one at hand.",
		take: asTexts(isRepository, func(c *Settings) *[]string { return &c.Repositories }),
	},
	{
		Flag: "org", Input: "org", Kind: Text, Verbs: []verbs.Verb{verbs.PR},
		Doc:  "Organisation, or user, whose repositories are read from GitHub. It takes a GitHub App that is installed there, or somebody's token. Empty: none.",
		take: asOne(asGiven(isOwner), func(c *Settings) *string { return &c.Organisation.Owner }),
	},
	{
		Key: "org.where", Flag: "where", Input: "where", Kind: List, Operator: true, Verbs: []verbs.Verb{verbs.PR},
		Doc:  "Conditions on the repositories of an organisation, like topic=terraform, name=infra-*, visibility=private, property.team=platform, or file!=.norelock for those without that file; fork=any takes forks, too. Of several conditions with one key, one must hold. A repository that has what a != names is left out.",
		take: asEach(ParseCondition, func(c *Settings) *[]Condition { return &c.Organisation.Where }),
	},
	{
		Key: "org.max-new", Flag: "max-new", Input: "max-new", Kind: Number, Default: "50", Min: 1, Operator: true, Verbs: []verbs.Verb{verbs.PR},
		Doc:  "How many pull requests a run opens at most over all repositories of an organisation. The others wait.",
		take: asNumber(func(c *Settings) *int { return &c.Organisation.MaxNew }),
	},
	{
		Flag: "fleet", Input: "fleet", Kind: Text, Verbs: []verbs.Verb{verbs.PR},
		Doc:  "File that remembers the repositories of an organisation, so that unchanged ones are not read. It names private repositories: keep it out of caches that others share. Empty: none.",
		take: asText(func(c *Settings) *string { return &c.Organisation.Memory }),
	},
	{
		Flag: "shard", Input: "shard", Kind: Text, Verbs: []verbs.Verb{verbs.PR},
		Doc:  "One of the parts into which the ids of the repositories divide an organisation, like 3/8. It has as much of max-new and of GitHub's limits. Empty: the whole.",
		take: asOne(optional(parseShard), func(c *Settings) *Shard { return &c.Organisation.Shard }),
	},
	{
		Key: "org.pause", Kind: Bool, Default: "false", Operator: true,
		Doc:  "Do nothing in the repositories of an organisation, and say so. A person who may change the file can stop every run at once.",
		take: asBool(func(c *Settings) *bool { return &c.Organisation.Pause }),
	},
	{
		Flag: "config", Input: "config", Kind: Text, Verbs: append(slices.Clone(reading), verbs.Comment, verbs.ConfigValidate),
		Doc:  "Path of the configuration file. One outside of the repositories that are read is the operator's. Empty: " + strings.Join(FileNames[:len(FileNames)-1], ", ") + " or " + FileNames[len(FileNames)-1] + ".",
		take: asText(func(c *Settings) *string { return &c.File }),
	},
	{
		Flag: "format", Kind: Choice, Default: "text", Verbs: append(slices.Clone(everyVerb), verbs.ConfigShow),
		Values: []string{"text", "json", "markdown", "html", "sarif"},
		Only:   map[string][]verbs.Verb{"markdown": reporting, "html": reporting, "sarif": {verbs.Check, verbs.Verify}},
		Meanings: map[string]string{
			"html":  "html is one page for a browser, which loads nothing.",
			"sarif": "sarif is what code scanning reads.",
		},
		Doc:  "Format of the result on standard output.",
		take: asText(func(c *Settings) *string { return &c.Format }),
	},
	{
		Flag: "max-bytes", Kind: Number, Default: "0", Verbs: append(slices.Clone(planning), verbs.Diff),
		Doc:  "Bytes that the result may have in Markdown, such as 65536 for a comment on GitHub. The rest is cut, the least important first, and counted. 0: no limit.",
		take: asNumber(func(c *Settings) *int { return &c.MaxBytes }),
	},
	{
		Flag: "sarif-category", Input: "sarif-category", Kind: Text, Verbs: []verbs.Verb{verbs.Check, verbs.Verify},
		Doc:  "Keeps apart uploads to code scanning for one commit, such as those of a matrix. An upload replaces an earlier one of the same verb and category.",
		take: asText(func(c *Settings) *string { return &c.SARIFCategory }),
	},
	{
		Flag: "summary", Kind: Choice, Default: "auto", Verbs: append(slices.Clone(scanning), verbs.Diff),
		Values: []string{"auto", "true", "false"},
		Doc:    "Show all changes together, and no root module by itself. auto does so if more than 20 root modules have something to report.",
		take:   asOne(parseSummary, func(c *Settings) **bool { return &c.Summary }),
	},
	{
		Flag: "cache", Input: "cache", Kind: Text, Verbs: hashing,
		Doc:  "File that remembers what packages hash to, so that none is downloaded twice. Anyone who can write to it decides what lock files say. Empty: relock/hashes in the user's cache directory.",
		take: asText(func(c *Settings) *string { return &c.Cache }),
	},
	{
		Flag: "jobs", Kind: Number, Default: "0", Verbs: hashing,
		Doc:  "How many requests to registries may run at once; 0: 32, and 6 packages of a host.",
		take: asNumber(func(c *Settings) *int { return &c.Jobs }),
	},
	{
		Key: "timeout", Flag: "timeout", Input: "timeout", Kind: Text, Verbs: append(slices.Clone(reading), verbs.Comment),
		Doc:  "How long a run may ask for versions, modules and packages, like 90s or 20m. Modules, versions and dates may each use half of what is left. Anything that is not finished by then fails and stays as it is, and the rest is done. Empty: as long as it takes; in a workflow 30m. A run goes on beyond that as long as packages arrive, at most 5 minutes apart.",
		take: asOne(optional(parseTimeout), func(c *Settings) *time.Duration { return &c.Timeout }),
	},
	{
		Flag: "stats", Kind: Bool, Default: "false", Verbs: everyVerb,
		Doc:  "Say what the run cost: requests, bytes, packages, memory.",
		take: asBool(func(c *Settings) *bool { return &c.Stats }),
	},
	{
		Flag: "verbose", Input: "verbose", Kind: Bool, Default: "false", Verbs: everyVerb,
		Doc:  "Log each request and its answer, and list what is up to date.",
		take: asBool(func(c *Settings) *bool { return &c.Verbose }),
	},
}
