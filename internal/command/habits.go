package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// habit is what people type who know another program, and what they can type here. It is
// a hint and no alias: what relock understands stays one list.
type habit struct {
	// typed are commands by their words after relock, or flags. A flag may be typed with
	// one dash or two.
	typed []string
	// of are the commands for which a row about flags is; nil: all.
	of []string
	// dirs says that the row is for commands that take directories alone.
	dirs bool
	// write is a command line of relock, or a flag of the command that was typed; empty
	// if nothing needs to be typed.
	write string
	why   string
}

// habits are tried in their order.
var habits = []habit{
	{typed: []string{"plan", "outdated", "status"}, write: "relock check", why: "it says what would change, and writes nothing"},
	{typed: []string{"update", "apply", "bump", "fix"}, write: "relock upgrade", why: "it writes the newest allowed versions"},
	{typed: []string{"init"}, write: "relock setup", why: "it writes the workflow that opens pull requests; what terraform init -upgrade does to lock files, relock upgrade does"},
	{typed: []string{"validate"}, write: "relock config validate", why: "it checks the configuration file; relock verify is about lock files"},
	{typed: []string{"show", "list", "ls", "get", "providers"}, write: "relock scan", why: "it shows root modules and their constraints; relock config show prints settings"},
	{typed: []string{"providers lock"}, write: "relock lock", why: "it completes hashes as terraform providers lock does"},
	{typed: []string{"fmt"}, write: "relock lock --exact", why: "it writes lock files as the tool itself would, byte by byte"},
	{typed: []string{"lint", "test"}, write: "relock check", why: "it says which lock files are not fresh and complete"},
	{typed: []string{"audit"}, write: "relock verify", why: "it proves or refutes every hash"},
	{typed: []string{"explain"}, write: "relock why hashicorp/aws", why: "it says what holds a provider"},
	{typed: []string{"schema"}, write: "relock config schema"},
	{typed: []string{"config list", "config print", "config get"}, write: "relock config show"},
	{typed: []string{"config check", "config lint", "config test"}, write: "relock config validate"},
	{typed: []string{"completion pwsh"}, write: "relock completion powershell"},
	{typed: []string{"completion sh", "completion ksh", "completion csh", "completion tcsh", "completion nu"}, why: "there are scripts for bash, fish, powershell and zsh"},

	{typed: []string{"--json", "-o", "--output", "-f"}, of: []string{"shards", "config schema"}, why: "leave it out: this command prints JSON"},
	{typed: []string{"--json", "-o", "--output", "-f"}, write: "--format json"},
	{typed: []string{"--markdown", "--md"}, write: "--format markdown"},
	{typed: []string{"--html"}, write: "--format html"},
	{typed: []string{"--sarif"}, write: "--format sarif"},

	{typed: []string{"--dry-run", "--check", "-n"}, of: []string{"upgrade"}, write: "relock check", why: "it says what would change, and writes nothing"},
	{typed: []string{"--dry-run", "--check", "-n"}, of: []string{"lock"}, write: "relock check --lock", why: "it says what lock would change, and writes nothing"},
	{typed: []string{"--dry-run", "--check", "-n"}, of: []string{"check", "scan", "why", "verify", "diff"}, why: "leave it out: this command writes no lock file"},
	{typed: []string{"--dry-run", "-n"}, of: []string{"config init", "setup"}, write: "--stdout", why: "it prints the result and writes nothing"},
	{typed: []string{"--check", "-n"}, of: []string{"pr"}, write: "--dry-run", why: "it says what would be proposed"},
	{typed: []string{"--lockfile", "--detailed-exitcode", "--exit-code"}, of: []string{"check"}, why: "leave it out: relock check writes nothing, and ends with status 3 if a lock file would change"},
	{typed: []string{"--lockfile", "--detailed-exitcode", "--exit-code"}, write: "relock check", why: "it writes nothing, and ends with status 3 if a lock file would change"},
	{typed: []string{"--check"}, write: "relock check", why: "it says what would change, and writes nothing"},
	{typed: []string{"--fix", "--write", "-w"}, of: []string{"check"}, write: "relock upgrade", why: "it writes what relock check shows"},
	{typed: []string{"--upgrade"}, write: "relock upgrade", why: "it writes the newest allowed versions"},

	{typed: []string{"--no-color", "--no-colour", "--color", "--colour"}, why: "set the variable NO_COLOR=1; only terminals get colours"},
	{typed: []string{"--quiet", "--silent", "-q", "-s"}, write: "--summary=true", why: "it shows all changes together, and no root module by itself"},
	{typed: []string{"--debug", "--trace", "--log-level"}, write: "--verbose", why: "it logs each request"},
	{typed: []string{"-V"}, write: "relock version"},
	{typed: []string{"--version"}, dirs: true, write: "relock version"},

	{typed: []string{"--dir", "--directory", "--chdir", "-C", "--path", "--working-dir", "--cwd"}, dirs: true, why: "name directories behind the command, as in relock check prod/network"},
	{typed: []string{"--dir", "--directory", "--chdir", "-C", "--path", "--working-dir", "--cwd"}, why: "run relock in that directory"},
	{typed: []string{"--recursive", "-r", "--all", "-a"}, dirs: true, why: "leave it out: every directory below is searched, or below DIR as in relock check DIR/..."},
	{typed: []string{"--repository", "--repositories", "-R"}, write: "--repo OWNER/NAME"},
	{typed: []string{"--target", "--only", "--package", "-p"}, write: "--provider hashicorp/aws", why: "it takes one provider"},
	{typed: []string{"--os", "--arch"}, write: "--platform linux_amd64"},
	{typed: []string{"--changed", "--since", "--ref"}, write: "--touched origin/main", why: "it looks at what differs from a revision"},
	{typed: []string{"--parallelism", "--parallel", "--concurrency", "--workers", "-j"}, write: "--jobs 8"},
	{typed: []string{"--token"}, why: "set the variable GITHUB_TOKEN, for example to what gh auth token prints"},

	{typed: []string{"--var", "--var-file"}, why: "the key module-vars of the configuration file gives values; relock config schema describes it"},
	{typed: []string{"--major", "--minor", "--patch"}, why: "the key rules of the configuration file chooses updates; relock config schema describes it"},
	{typed: []string{"--fs-mirror", "--net-mirror", "--plugin-dir"}, why: "leave it out: relock reads mirrors from the CLI configuration of the tool"},
	{typed: []string{"--backend", "--input", "--get", "--reconfigure", "--lock-timeout", "--enable-plugin-cache"}, why: "leave it out: relock runs no terraform, and asks you nothing"},
	{typed: []string{"--yes", "-y", "--auto-approve", "--force"}, why: "leave it out: relock asks you nothing"},
}

// commandHabit is the hint about words where a command belongs; empty if there is none.
func commandHabit(cmd *cobra.Command, words []string) string {
	if cmd.HasParent() {
		words = slices.Concat([]string{cmd.Name()}, words)
	}
	best, hint := 0, ""
	for _, h := range habits {
		for _, typed := range h.typed {
			if known := strings.Fields(typed); len(known) > best && len(known) <= len(words) && slices.Equal(known, words[:len(known)]) {
				best, hint = len(known), h.hint(cmd)
			}
		}
	}
	return hint
}

// flagHabit is the hint about a flag that a command does not have; empty if there is none.
func flagHabit(cmd *cobra.Command, name string) string {
	for _, h := range habits {
		if h.has(name) && h.isFor(cmd) {
			return h.hint(cmd)
		}
	}
	return ""
}

// has reports whether the row is about a flag, of which the name is known without dashes.
func (h habit) has(name string) bool {
	return slices.ContainsFunc(h.typed, func(typed string) bool {
		return strings.HasPrefix(typed, "-") && strings.TrimLeft(typed, "-") == name
	})
}

// isFor reports whether the row is for a command. None is advised to be what it is.
func (h habit) isFor(cmd *cobra.Command) bool {
	named := h.of == nil || slices.Contains(h.of, commandWords(cmd))
	return named && (!h.dirs || strings.Contains(cmd.Use, "DIR")) && h.write != cmd.CommandPath()
}

// hint says what to write, and why.
func (h habit) hint(cmd *cobra.Command) string {
	if h.write == "" {
		return h.why
	}
	hint := "write " + h.write
	if h.why != "" {
		hint += ": " + h.why
	}
	flag, isFlag := strings.CutPrefix(h.write, "--")
	if !isFlag {
		return hint
	}
	name, value, _ := strings.Cut(strings.ReplaceAll(flag, "=", " "), " ")
	f := cmd.Flags().Lookup(name)
	if f == nil {
		return flagOfOthers(cmd, name)
	}
	if words := f.Annotations[takenValues]; len(words) > 0 && !slices.Contains(words, value) {
		return fmt.Sprintf("--%s of %s must be %s", name, cmd.CommandPath(), oneOf(words))
	}
	return hint
}

// flagOfOthers says which commands have a flag.
func flagOfOthers(cmd *cobra.Command, name string) string {
	return fmt.Sprintf("--%s is a flag of relock %s", name, strings.Join(commandsWith(cmd.Root(), name), ", "))
}
