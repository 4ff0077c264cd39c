package settings

import (
	"slices"
	"strings"

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
	following = append(slices.Clone(reading), verbs.Get)
	proving   = []verbs.Verb{verbs.Verify, verbs.Comment}
)

// All is the table of settings, in the order in which people read it. It must not be changed.
var All = fieldsOf(settingRows)

func settingRows(c *Settings) []Setting {
	return slices.Concat([]Setting{
		{field: &c.Version, Default: "1", check: isVersion1, Doc: "Version of the configuration file's format."},
		{field: &c.Include, Default: "**", check: globs.IsGlob,
			Doc: "Globs of the directories in which root modules are searched. ** enters no node_modules and no directory whose name begins with a dot: write out such a name, as in .infra/**."},
		{field: &c.Exclude, check: globs.IsGlob,
			Doc: "Globs of directories that a search leaves out. Reports count their lock files, and verify does not judge them."},
		{field: &c.Directories,
			Doc: "Directories of root modules, patterns like prod/*, or DIR/... to search below one. Empty: the whole repository is searched."},
		{field: &c.Tool, Default: "auto", read: one(parseTool), Verbs: following,
			Values: []string{"auto", string(provider.Terraform), string(provider.OpenTofu)},
			Doc:    "Whose rules apply. auto chooses the tool of each root module by its version files, its lock file and .tofu files."},
		{field: &c.ToolVersion, read: one(optional(provider.ParseVersion)), Verbs: following,
			Doc: "Release of the tool whose rules apply, like 1.11.4. Empty: what a version file of tenv, tfenv, asdf or mise says, else the newest release that relock knows and that required_version allows."},
		{field: &c.Platforms, Default: "auto", Verbs: judging,
			Doc: "Platforms that each lock file must cover. all is every platform that a release serves. auto is those that the lock file covers now if there are two or more, else the common ones. A platform that a release does not serve is reported and left out, but fails the provider if the command line names it."},
		{field: &c.Providers, Verbs: judging,
			Doc: "Patterns of providers, like hashicorp/aws or */aws. Entries of other providers keep their bytes. Empty: every provider."},
		{field: &c.Create, Verbs: scanning,
			Doc: "Also take root modules that have no lock file; upgrade, lock and pr write one."},
		{field: &c.Unlocked, Default: "warn", Values: []string{"warn", "fail", "ignore"}, Verbs: reading,
			Doc: "What to do about root modules that a search finds without a lock file, unless create writes one. warn names them; fail names them and fails the run; ignore says nothing."},
		{field: &c.ModuleLock, Default: KeepModuleLock, Values: []string{KeepModuleLock, WriteModuleLock}, Alone: WriteModuleLock, Verbs: planning,
			Doc: "Which root modules have a lock file of modules. keep: those that have one; write: all that call modules from elsewhere."},
		{field: &c.Keep,
			Doc: "Patterns of providers whose entries stay in a lock file although no configuration requires them, because a state still does."},
		{field: &c.KeepUnreferenced, Verbs: []verbs.Verb{verbs.Upgrade, verbs.Check, verbs.Verify, verbs.PR},
			Doc: "Keep every entry that no configuration requires."},
		{field: &c.HashesFrom, Default: "methods", Values: []string{"methods", "origin", "both"}, Verbs: planning,
			Doc: "Where hashes come from: the installation methods of the CLI configuration, the provider's own registry, or both."},
		{field: &c.HashSource, Values: []string{"", "opentofu"}, Verbs: hashing,
			Doc: "Whether to trust hashes that a registry reports of packages that were not downloaded. opentofu: trust registry.opentofu.org if the package is in a verified checksum list, and mark such hashes. Empty: only where OpenTofu itself does."},
		{field: &c.AcceptReReleased, read: each(provider.ParseReleasePattern), Verbs: judging,
			Doc: "Releases like hashicorp/aws@5.31.0 whose packages may differ from what was locked: their hashes are replaced. Others are refused."},
		{field: &c.AcceptMoved, Verbs: []verbs.Verb{verbs.Upgrade},
			Doc: "Patterns of modules, like git::https://example.com/*, whose tags have moved: what they name now is locked. Others stay as they are locked."},
		{field: &c.Signers,
			Doc: "Patterns of providers, each with the fingerprints of the keys that may sign their checksum lists, like hashicorp/*: [C874011F0AB405110D02105534365D9472D7468F]. Releases that another key signed, or none, are refused. A provider that several patterns select must be signed by a key that all of them name."},
		{field: &c.Severities.Raised, lenient: lessSevere,
			Doc: "Codes of findings, each with the severity that verify gives them, like unsigned: error. A repository's own file can only make findings worse; the operator's can make them less bad, too."},
		{field: &c.Registries, Kind: Named, Operator: true, check: isHost, sound: otherHost,
			Doc:    "Hosts of registries with the credentials for them. Only the operator's file may have them.",
			Fields: fieldsOf(registryRows)},
		{field: &c.UnreadableModules, Default: "fail", Values: []string{"fail", "preserve"}, Verbs: planning,
			Doc: "What to do about a root module if one of its child modules cannot be read. fail leaves it alone and says so; preserve uses the constraints that its lock file records instead, drops nothing, and marks the result as partial."},
		{field: &c.ModuleVars, list: &c.VariableSets, Most: maxSets, sound: setSoundly, check: isVariable,
			Doc:    "Values for variables in the source and version of module calls, where the tool evaluates them. They outrank those of .tfvars files. A map holds for every root module. A list has up to 16 sets: a root module is run with one at a time, and its lock file must serve all. They are no secrets.",
			Fields: fieldsOf(variableRows)},
		{field: &c.Environments, Most: maxSets, byName: true, sound: setSoundly,
			Doc:    "Sets of values that Terragrunt units are run with, each time with another one, up to 16. A unit that reads any of their names is read once for each set, and its lock file must serve all of them. Nothing is read from the runner's environment. They are no secrets.",
			Fields: fieldsOf(environmentRows)},
		{field: &c.ModuleToken, Secret: true,
			Doc: "Token with which modules are fetched from this GitHub server by git, where the workflow's own token may not read them. ssh sources there are fetched by https with it."},
		{field: &c.Strict, Verbs: hashing,
			Doc: "Leave a root module untouched if any of its providers fails or any hash would be recorded that no verified checksum list or package proves."},
		{field: &c.Downgrades, Default: "keep", Values: []string{"keep", "allow"},
			Doc: "What to do if a locked version is no longer offered and only older ones are allowed. keep leaves it and fails the provider, so that a person looks; allow moves it down. Such a pull request is never merged automatically."},
		{field: &c.AllowDowngrade, Verbs: []verbs.Verb{verbs.Upgrade, verbs.Check, verbs.PR},
			Doc: "Move a locked version down if it is no longer offered, as downgrades: allow does."},
		{field: &c.Exact, Verbs: []verbs.Verb{verbs.Upgrade, verbs.Lock},
			Doc: "Write whenever the tool's own commands would change a byte of the lock file."},
		{field: &c.Prune, Verbs: []verbs.Verb{verbs.Lock},
			Doc: "Drop hashes that belong to no package of the wanted platforms and are in no verified checksum list."},
		{field: &c.Check, Values: []string{"", "lock", "upgrade"},
			Doc: "What fails a check. lock: a lock file that is not complete or not in step with the configuration; new releases are reported. upgrade: also one that is not at the newest releases. Empty: lock as a step of a workflow, upgrade on the command line."},
		{field: &c.Touched, Verbs: []verbs.Verb{verbs.Check},
			Doc: "Look only at root modules that differ from this revision of the git repository, like origin/main. A changed file beside a root module counts, or beside a local module that it calls. A problem that the revision already has is a warning. If the clone lacks the history, GitHub is asked, for which GITHUB_REPOSITORY and GITHUB_TOKEN must be set."},
		{field: &c.Lock, Verbs: []verbs.Verb{verbs.Check},
			Doc: "Check what lock would change instead of upgrade, as check: lock does."},
		{field: &c.FailOn, Default: "error", read: one(problem.ParseSeverity), Verbs: verifying,
			Values: []string{"error", "warning", "note"},
			Doc:    "The least severity of a finding with which verify ends with status 4."},
		{field: &c.Severities.Chosen, Kind: List, read: whole(addChosenSeverity), Verbs: verifying,
			Doc: "CODE=SEVERITY, the severity of findings of a code: error, warning or note. It outranks what any file says."},
		{field: &c.Ledger, Verbs: proving,
			Doc: "File that records what was first seen of every release. A difference from it is a finding, and new releases are added. On a pull request's head the file of the base is read, and nothing is added. Empty: none."},
		{field: &c.Baseline, Verbs: []verbs.Verb{verbs.Check, verbs.Verify},
			Doc: "File of the findings of verify and check that are accepted, each with a reason and the day until which it is accepted. On a pull request's head the file of the base is read. Empty: none."},
		{field: &c.MaxDownload, Default: "4GiB", read: one(parseSize),
			Verbs: append([]verbs.Verb{verbs.Check}, proving...),
			Doc:   "How much verify and check download at most to prove h1 hashes, like 500MiB; 0 downloads nothing. The other hashes are unproven."},
		{field: &c.Offline, Verbs: verifying,
			Doc: "Ask nobody. No hash is proven then; the entries are compared with the configuration alone."},
		{field: &c.NoCache, Verbs: verifying, Doc: "Use no hash cache: every h1 is proven by a package of this run."},
		{field: &c.Packages, Verbs: proving,
			Doc: "Look into the packages that the lock files cover. Each must hold one program of the expected name, for its platform by its own header, and nothing that leads out of it. Packages are downloaded for this, as far as max-download goes."},
		{field: &c.Recheck, Verbs: verifying,
			Doc: "How many packages that the hash cache knows are downloaded and hashed again, to find a cache that somebody has changed."},
		{field: &c.Why, Verbs: []verbs.Verb{verbs.Scan},
			Doc: "Patterns of providers; list each of their constraints with its file and line."},
		{field: &c.Policy.Rules, joins: true, sound: ruleActs,
			Doc:    "Which releases are taken. Every matching rule applies; later ones outrank earlier ones. No rule moves a version down.",
			Fields: fieldsOf(ruleRows)},
		{field: &c.Judge, Default: "changed", Values: []string{JudgeOff, JudgeChanged, JudgeAll},
			Verbs: []verbs.Verb{verbs.Check, verbs.Verify},
			Doc:   "Which entries check and verify judge by the rules, also those that relock did not write. changed: a refused entry fails the run if the change adds or replaces its version, and is a warning otherwise. all: every refusal fails it."},
		{field: &c.Policy.GroupBy, read: one(textOf[policy.GroupBy]), Default: "all", Verbs: []verbs.Verb{verbs.PR},
			Values: wordsOf(policy.ByAll, policy.ByProvider, policy.ByDirectory, policy.ByNamespace),
			Doc:    "How to group changes that match no named group."},
		{field: &c.Policy.Groups, late: true, sound: groupSelects,
			Doc:    "Named groups of changes, each with a pull request of its own. A change belongs to the first group that matches.",
			Fields: groupFields()},
	}, c.PullRequest.rows(), c.Dashboard.rows(), []Setting{
		{field: &c.CommandsViaApps, Default: "true",
			Doc: "Whether commands count in comments that a GitHub App writes in a person's name. With false such comments do nothing. It is read from the base branch of the pull request."},
		{field: &c.Command, Default: "auto",
			Values: []string{"auto", "pr", "check", "verify", "upgrade", "lock", "scan", "comment", "get", "get --require", "get --check"},
			Doc:    "What to run. auto picks it from the event: pr on a schedule or by hand, check on pushes and pull requests, comment on comments."},
		{field: &c.DryRun, Verbs: []verbs.Verb{verbs.PR},
			Doc: "Say what would be proposed and change nothing on GitHub."},
		{field: &c.Token, Secret: true, InputDefault: "${{ github.token }}",
			Doc: "Token for GitHub's API. Workflows on the pull requests of the workflow's own token wait for an approval."},
		{field: &c.App.ID, check: isAppID,
			Doc: "ID of a GitHub App that acts instead of the token. Workflows on its pull requests need no approval."},
		{field: &c.App.Key, Secret: true, Block: true, check: isPrivateKey,
			Doc: "Private key of the GitHub App, in PEM form."},
		{field: &c.App.Installation, Kind: Number, read: one(parseInstallation),
			Doc: "Installation of the GitHub App; 0 takes that of the repository."},
		{field: &c.Repositories, check: isRepository, Verbs: []verbs.Verb{verbs.PR, verbs.ConfigShow},
			Doc: "Repositories, as OWNER/NAME, that are read from GitHub instead of a checkout. Empty: the one at hand."},
	}, c.Organisation.rows(), []Setting{
		{field: &c.File, Verbs: append(slices.Clone(following), verbs.Comment, verbs.ConfigValidate),
			Doc: "Path of the configuration file. One outside of the repositories that are read is the operator's. Empty: " + strings.Join(FileNames[:len(FileNames)-1], ", ") + " or " + FileNames[len(FileNames)-1] + "."},
		{field: &c.Format, Default: "text", Values: []string{"text", "json", "markdown", "html", "sarif"},
			Verbs: append(slices.Clone(everyVerb), verbs.ConfigShow),
			Only:  map[string][]verbs.Verb{"markdown": reporting, "html": reporting, "sarif": {verbs.Check, verbs.Verify}},
			Meanings: map[string]string{
				"html":  "html is one page for a browser, which loads nothing.",
				"sarif": "sarif is what code scanning reads.",
			},
			Doc: "Format of the result on standard output."},
		{field: &c.MaxBytes, Verbs: append(slices.Clone(planning), verbs.Diff),
			Doc: "Bytes that the result may have in Markdown, such as 65536 for a comment on GitHub. The rest is cut, the least important first, and counted. 0: no limit."},
		{field: &c.SARIFCategory, Verbs: []verbs.Verb{verbs.Check, verbs.Verify},
			Doc: "Keeps apart uploads to code scanning for one commit, such as those of a matrix. An upload replaces an earlier one of the same verb and category."},
		{field: &c.Summary, Default: "auto", Values: []string{"auto", "true", "false"}, Alone: "true",
			Verbs: append(slices.Clone(scanning), verbs.Diff, verbs.Verify),
			Doc:   "Show all changes together, and no root module by itself. auto does so if more than 4 root modules have something to report, or 20 in a scan."},
		{field: &c.Cache, Verbs: append(slices.Clone(hashing), verbs.Get),
			Doc: "File that remembers what packages hash to, so that none is downloaded twice. Anyone who can write to it decides what lock files say. Empty: relock/hashes in the user's cache directory."},
		{field: &c.Jobs, Verbs: append(slices.Clone(hashing), verbs.Get),
			Doc: "How many requests to registries may run at once; 0: 32, and 6 packages of a host."},
		{field: &c.Timeout, read: one(optional(parseTimeout)), Verbs: append(slices.Clone(following), verbs.Comment),
			Doc: "How long a run may ask for versions, modules and packages, like 90s or 20m. Modules, versions and dates may each use half of what is left. Anything that is not finished by then fails and stays as it is, and the rest is done. Empty: as long as it takes; in a workflow 30m. A run goes on beyond that as long as packages arrive, at most 5 minutes apart."},
		{field: &c.Stats, Verbs: everyVerb, Doc: "Say what the run cost: requests, bytes, packages, memory."},
		{field: &c.Verbose, Verbs: append(slices.Clone(everyVerb), verbs.Get), Doc: "Log each request and its answer, and list what is up to date."},
	})
}
