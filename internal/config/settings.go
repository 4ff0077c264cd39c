package config

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// The verbs that share flags.
var (
	everyVerb = []string{"scan", "upgrade", "lock", "check", "diff", "pr"}
	scanning  = []string{"scan", "upgrade", "lock", "check", "pr"}
	planning  = []string{"upgrade", "lock", "check", "pr"}
)

// Settings is the table, in the order in which people read it. It must not be
// changed.
var Settings = []Setting{
	{
		Key: "version", Kind: Number, Default: "1",
		Doc:   "Version of the configuration file's format.",
		check: isVersion1,
		set:   func(*Config, []string) {},
	},
	{
		Key: "include", Kind: List, Default: "**",
		Doc:   "Globs of the directories in which root modules are searched; ** matches any depth.",
		check: isGlob,
		set:   func(c *Config, v []string) { c.Include = v },
	},
	{
		Key: "exclude", Kind: List,
		Doc:   "Globs of directories that a search leaves out.",
		check: isGlob,
		set:   func(c *Config, v []string) { c.Exclude = v },
	},
	{
		Input: "directories", Kind: List,
		Doc: "Directories of root modules, or DIR/... to search below one, separated by comma or newline. Empty: the whole repository is searched for root modules with a lock file.",
		set: func(c *Config, v []string) { c.Directories = v },
	},
	{
		Key: "tool", Flag: "tool", Input: "tool", Kind: Choice, Default: "auto", Verbs: scanning,
		Values: []string{"auto", string(provider.Terraform), string(provider.OpenTofu)},
		Doc:    "Whose rules apply. auto tells the tool of each root module from its version files, its lock file and .tofu files.",
		set: func(c *Config, v []string) {
			if v[0] != "auto" {
				c.Tool = provider.ToolName(v[0])
			}
		},
	},
	{
		Key: "tool-version", Flag: "tool-version", Input: "tool-version", Kind: Text, Verbs: scanning,
		Doc:   "Release of the tool whose rules apply, like 1.11.4. Empty: an exact version in .terraform-version, .opentofu-version or .tool-versions, else the newest release that relock knows.",
		check: isToolVersion,
		set: func(c *Config, v []string) {
			if v[0] != "" {
				c.ToolVersion = must(provider.ParseVersion(v[0]))
			}
		},
	},
	{
		Key: "platforms", Flag: "platform", Input: "platforms", Kind: Platforms, Default: "auto", Verbs: planning,
		Doc:   "Platforms that each lock file must cover: a list like linux_amd64, darwin_arm64; all for every platform that a release serves; auto for those that the lock file covers now if there are two or more, else the common ones.",
		check: isPlatform,
		set:   func(c *Config, v []string) { c.Platforms = platformSet(v) },
	},
	{
		Flag: "provider", Input: "providers", Kind: List, Verbs: planning,
		Doc:   "Patterns of providers, like hashicorp/aws or */aws. Entries of other providers keep their bytes. Empty: every provider.",
		check: isPattern,
		set:   func(c *Config, v []string) { c.Providers = patterns(v) },
	},
	{
		Key: "create", Flag: "create", Kind: Bool, Default: "false", Verbs: scanning,
		Doc: "Also take root modules that have no lock file, and write one.",
		set: func(c *Config, v []string) { c.Create = v[0] == "true" },
	},
	{
		Key: "keep", Kind: List,
		Doc:   "Patterns of providers whose entries stay in a lock file although no configuration requires them, because a state still does.",
		check: isPattern,
		set:   func(c *Config, v []string) { c.Keep = patterns(v) },
	},
	{
		Flag: "keep-unreferenced", Kind: Bool, Default: "false", Verbs: []string{"upgrade", "check", "pr"},
		Doc: "Keep every entry that no configuration requires.",
		set: func(c *Config, v []string) { c.KeepUnreferenced = v[0] == "true" },
	},
	{
		Key: "hashes-from", Flag: "hashes-from", Kind: Choice, Default: "methods", Verbs: planning,
		Values: []string{"methods", "origin", "both"},
		Doc:    "Where hashes come from: the installation methods of the CLI configuration, the provider's own registry, or both.",
		set:    func(c *Config, v []string) { c.HashesFrom = v[0] },
	},
	{
		Key: "verify.accept-re-released", Flag: "accept-re-released", Kind: List, Verbs: planning,
		Doc:   "Releases like hashicorp/aws@5.31.0 whose packages may differ from what was locked: their hashes are replaced. Others are refused.",
		check: isRelease,
		set:   func(c *Config, v []string) { c.AcceptReReleased = releases(v) },
	},
	{
		Key: "unreadable-modules", Flag: "unreadable-modules", Kind: Choice, Default: "fail", Verbs: planning,
		Values: []string{"fail", "preserve"},
		Doc:    "What becomes of a root module of which a child module cannot be read. fail leaves it alone and says so; preserve lets the constraints that its lock file records stand in for what is not known, drops nothing, and marks the result as partial.",
		set:    func(c *Config, v []string) { c.UnreadableModules = v[0] },
	},
	{
		Key: "module-vars", Kind: Map,
		Doc:   "Values for variables in the source and version of module calls, where the tool evaluates them. They outrank those of .tfvars files.",
		check: isVariable,
		set:   func(c *Config, v []string) { c.ModuleVars = variables(v) },
	},
	{
		Input: "module-token", Env: "RELOCK_MODULE_TOKEN", Kind: Text, Secret: true,
		Doc: "Token with which modules are fetched from this GitHub server by git, where the workflow's own token may not read them. ssh sources there are fetched by https with it.",
		set: func(c *Config, v []string) { c.ModuleToken = v[0] },
	},
	{
		Key: "strict", Flag: "strict", Input: "strict", Kind: Bool, Default: "false", Verbs: planning,
		Doc: "Leave a root module untouched if any of its providers fails or any hash would be recorded that no verified checksum list or package proves.",
		set: func(c *Config, v []string) { c.Strict = v[0] == "true" },
	},
	{
		Flag: "exact", Kind: Bool, Default: "false", Verbs: []string{"upgrade", "lock"},
		Doc: "Write whenever the tool's own commands would change a byte of the lock file.",
		set: func(c *Config, v []string) { c.Exact = v[0] == "true" },
	},
	{
		Flag: "prune", Kind: Bool, Default: "false", Verbs: []string{"lock"},
		Doc: "Drop hashes that no package of the wanted platforms and no verified checksum list accounts for.",
		set: func(c *Config, v []string) { c.Prune = v[0] == "true" },
	},
	{
		Flag: "lock", Kind: Bool, Default: "false", Verbs: []string{"check"},
		Doc: "Check what lock would change instead of upgrade.",
		set: func(c *Config, v []string) { c.Lock = v[0] == "true" },
	},
	{
		Flag: "why", Kind: List, Verbs: []string{"scan"},
		Doc:   "Patterns of providers of which every constraint is listed with its place.",
		check: isPattern,
		set:   func(c *Config, v []string) { c.Why = patterns(v) },
	},
	{
		Key: "pull-request.branch-prefix", Kind: Text, Default: "relock/",
		Doc:   "What the names of relock's branches begin with.",
		check: isBranchPrefix,
		set:   func(c *Config, v []string) { c.PullRequest.BranchPrefix = v[0] },
	},
	{
		Key: "pull-request.base", Kind: Text,
		Doc:   "Branch that pull requests are made against. Empty: the default branch.",
		check: isBranch,
		set:   func(c *Config, v []string) { c.PullRequest.Base = v[0] },
	},
	{
		Key: "pull-request.labels", Kind: List, Default: "dependencies,terraform",
		Doc:   "Labels of pull requests. GitHub creates those that do not exist.",
		check: isLabel,
		set:   func(c *Config, v []string) { c.PullRequest.Labels = v },
	},
	{
		Key: "pull-request.release-notes", Kind: Bool, Default: "true",
		Doc: "Show the release notes of upgrades in the pull request. They are read from the GitHub server that the run speaks to.",
		set: func(c *Config, v []string) { c.PullRequest.ReleaseNotes = v[0] == "true" },
	},
	{
		Input: "command", Kind: Choice, Default: "auto",
		Values: []string{"auto", "pr", "check", "upgrade", "lock", "scan"},
		Doc:    "What to run. auto picks it from the event: pr on a schedule or by hand, check on pushes and pull requests.",
		set:    func(c *Config, v []string) { c.Command = v[0] },
	},
	{
		Flag: "dry-run", Input: "dry-run", Kind: Bool, Default: "false", Verbs: []string{"pr"},
		Doc: "Say what would be proposed and change nothing on GitHub.",
		set: func(c *Config, v []string) { c.DryRun = v[0] == "true" },
	},
	{
		Input: "token", Env: "GITHUB_TOKEN", Kind: Text, Secret: true, InputDefault: "${{ github.token }}",
		Doc: "Token for GitHub's API. The workflow's own token opens pull requests on which no workflows run.",
		set: func(c *Config, v []string) { c.Token = v[0] },
	},
	{
		Flag: "config", Input: "config", Kind: Text, Verbs: append(slices.Clone(scanning), "config"),
		Doc: "Path of the configuration file. Empty: " + strings.Join(FileNames[:len(FileNames)-1], ", ") + " or " + FileNames[len(FileNames)-1] + ".",
		set: func(c *Config, v []string) { c.File = v[0] },
	},
	{
		Flag: "format", Kind: Choice, Default: "text", Verbs: everyVerb,
		Values: []string{"text", "json", "markdown"},
		Doc:    "Format of the result on standard output; scan has no markdown.",
		set:    func(c *Config, v []string) { c.Format = v[0] },
	},
	{
		Flag: "cache", Input: "cache", Kind: Text, Verbs: planning,
		Doc: "File that remembers what packages hash to, so that none is downloaded twice. Whoever can write to it decides what lock files say. Empty: relock/hashes in the user's cache directory.",
		set: func(c *Config, v []string) { c.Cache = v[0] },
	},
	{
		Flag: "jobs", Kind: Number, Default: "0", Verbs: planning,
		Doc:   "How many questions to registries may be open at once; 0 chooses by the number of processors.",
		check: isCount,
		set:   func(c *Config, v []string) { c.Jobs = must(strconv.Atoi(v[0])) },
	},
	{
		Flag: "stats", Kind: Bool, Default: "false", Verbs: everyVerb,
		Doc: "Say what the run cost: requests, bytes, packages, memory.",
		set: func(c *Config, v []string) { c.Stats = v[0] == "true" },
	},
	{
		Flag: "verbose", Input: "verbose", Kind: Bool, Default: "false", Verbs: everyVerb,
		Doc: "Log what is asked and answered, and list what is up to date.",
		set: func(c *Config, v []string) { c.Verbose = v[0] == "true" },
	},
}

// must unwraps what the setting's check has accepted before.
func must[T any](v T, err error) T {
	if err != nil {
		panic("config: a value passed its check and does not parse: " + err.Error())
	}
	return v
}

func platformSet(items []string) PlatformSet {
	if keyword(items) {
		return PlatformSet{All: items[0] == "all"}
	}
	var list []provider.Platform
	for _, item := range items {
		if p := must(provider.ParsePlatform(item)); !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return PlatformSet{List: list}
}

func patterns(items []string) []provider.Pattern {
	list := make([]provider.Pattern, len(items))
	for i, item := range items {
		list[i] = must(provider.ParsePattern(item))
	}
	return list
}

func variables(items []string) map[string]string {
	values := make(map[string]string, len(items))
	for _, item := range items {
		name, text, _ := strings.Cut(item, "=")
		values[name] = text
	}
	return values
}

// isVariable accepts what HCL calls an identifier, as far as ASCII goes.
func isVariable(item string) error {
	name, _, _ := strings.Cut(item, "=")
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || name == "" || strings.ContainsAny(name[:1], "0123456789-") {
		return fmt.Errorf("%q is not the name of a variable", name)
	}
	return nil
}

func releases(items []string) []provider.ReleasePattern {
	list := make([]provider.ReleasePattern, len(items))
	for i, item := range items {
		list[i] = must(provider.ParseReleasePattern(item))
	}
	return list
}

func isRelease(s string) error {
	_, err := provider.ParseReleasePattern(s)
	return err
}

func isVersion1(s string) error {
	if s != "1" {
		return fmt.Errorf("%s is not a known version; it must be 1", s)
	}
	return nil
}

func isCount(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < 0 {
		return fmt.Errorf("%q is not a number from 0 up", s)
	}
	return nil
}

func isPattern(s string) error {
	_, err := provider.ParsePattern(s)
	return err
}

func isPlatform(s string) error {
	_, err := provider.ParsePlatform(s)
	return err
}

func isToolVersion(s string) error {
	if s == "" {
		return nil
	}
	_, err := provider.ParseVersion(s)
	return err
}

// isGlob accepts path.Match patterns for each path element, and ** for any
// number of elements.
func isGlob(s string) error {
	for element := range strings.SplitSeq(s, "/") {
		_, err := path.Match(element, "")
		if err != nil || element == "" || element == ".." || strings.Contains(element, `\`) {
			return fmt.Errorf("%q is not a glob of directories; it must be relative to the repository, like envs/** or */prod", s)
		}
	}
	return nil
}

func isLabel(s string) error {
	if strings.TrimSpace(s) == "" || len(s) > 50 {
		return fmt.Errorf("%q is not a label; GitHub accepts up to 50 characters", s)
	}
	return nil
}

func isBranch(s string) error {
	if s != "" && (!refName(s) || strings.HasSuffix(s, "/")) {
		return fmt.Errorf("%q is not a name that git accepts for a branch", s)
	}
	return nil
}

func isBranchPrefix(s string) error {
	if s == "" || !refName(strings.TrimSuffix(s, "/")) {
		return fmt.Errorf("%q is not what git accepts at the beginning of a branch name", s)
	}
	return nil
}

// refName reports whether git takes the name for a branch, by the rules of
// git-check-ref-format.
func refName(s string) bool {
	if s == "" || s == "@" || strings.HasPrefix(s, "-") || strings.HasSuffix(s, ".") ||
		strings.Contains(s, "..") || strings.Contains(s, "@{") ||
		strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }) {
		return false
	}
	for element := range strings.SplitSeq(s, "/") {
		if element == "" || strings.HasPrefix(element, ".") || strings.HasSuffix(element, ".lock") {
			return false
		}
	}
	return true
}
