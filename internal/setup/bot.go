package setup

import (
	"bytes"
	"regexp"
)

// Bot is another program that updates the repository, by its configuration file.
type Bot struct {
	Name string // Renovate or Dependabot
	File string // slash-separated, from the top of the repository
	// Providers says that it updates providers for certain. Renovate does by default.
	Providers bool
}

// BotFiles are the names of configuration files of other bots, the first that counts before
// others [docs.renovatebot.com, "Configuration Options"; docs.github.com, "Dependabot options
// reference"]. They must not be changed.
var BotFiles = map[string][]string{
	"Dependabot": {".github/dependabot.yml", ".github/dependabot.yaml"},
	"Renovate": {
		"renovate.json", "renovate.json5", ".github/renovate.json", ".github/renovate.json5",
		".gitlab/renovate.json", ".gitlab/renovate.json5", ".renovaterc", ".renovaterc.json", ".renovaterc.json5",
	},
}

// ofProviders is a line by which Dependabot updates providers. One in a comment is none.
var ofProviders = regexp.MustCompile(`(?m)^[^#\n]*package-ecosystem["']?\s*:\s*["']?(terraform|opentofu)\b`)

// UpdatesProviders reports whether a configuration file of Dependabot has it update providers.
func UpdatesProviders(content []byte) bool {
	return ofProviders.Match(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")))
}

// ofRelock is a step of a workflow that runs relock. One in a comment is none.
var ofRelock = regexp.MustCompile(`(?m)^[^#\n]*uses["']?\s*:\s*["']?relock-dev/relock@`)

// RunsRelock reports whether a workflow runs relock.
func RunsRelock(workflow []byte) bool { return ofRelock.Match(workflow) }

// AtlantisFile is the one name of a repository's configuration file of Atlantis
// [www.runatlantis.io, "Repo Level atlantis.yaml Config"].
const AtlantisFile = "atlantis.yaml"

// atlantisLines say what to paste. Atlantis plans a project if a file of its list changes.
var atlantisLines = []string{
	"Atlantis: " + AtlantisFile + " sets it up. A project is planned when relock changes its lock file, if this line is in it:",
	`autoplan: {when_modified: ["*.tf*", ".terraform.lock.hcl"]}`,
}

// besideURL is the workflow that lets relock complete what other bots propose.
const besideURL = "https://github.com/relock-dev/relock/blob/main/examples/workflows/beside-renovate.yml"

// advice says what to do beside the bot.
func (b Bot) advice() string {
	said := b.Name + ": " + b.File + " sets it up"
	switch {
	case b.Name == "Renovate":
		return said + ". Two bots would propose one provider: disable its manager terraform, or let relock complete its branches instead: " + besideURL
	case b.Providers:
		return said + " for providers, too. Two bots would propose one provider: remove that package-ecosystem, or let relock complete its branches instead: " + besideURL
	}
	return said + ", and not for providers. With the package-ecosystem github-actions it updates the workflow's actions, relock's too."
}
