package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// habit is a word that people type because another program has it, with a hint for them. It
// is no alias: each command and flag has one name.
type habit struct {
	// typed are commands, and flags with one dash, as Terraform has them.
	typed string
	// flag is a flag of the hint, which not all commands have.
	flag string
	hint string
}

// habits are the most common ones.
var habits = []habit{
	{typed: "plan outdated status", hint: "write relock check: it says what would change, and writes nothing"},
	{typed: "update apply bump fix", hint: "write relock upgrade: it writes the newest allowed versions"},
	{typed: "init", hint: "write relock setup: it writes the workflow that opens pull requests; what terraform init -upgrade does to lock files, relock upgrade does"},
	{typed: "providers", hint: "write relock lock: it completes hashes as terraform providers lock does; relock scan shows what requires providers"},
	{typed: "show list ls", hint: "write relock scan: it shows root modules and their constraints; relock config show prints settings"},
	{typed: "validate", hint: "write relock config validate: it checks the configuration file; relock verify is about lock files"},
	{typed: "demo", hint: "go run github.com/relock-dev/relock/demo@latest shows the main job on this machine"},

	{typed: "-json -o -output -f", flag: "format", hint: "write --format json"},
	{typed: "-dry-run -check -n", hint: "relock check writes nothing, and says what upgrade would change; with --lock, what lock would"},
	{typed: "-fix -write -w -upgrade", hint: "relock upgrade writes the newest allowed versions"},
	{typed: "-lockfile -detailed-exitcode -exit-code", hint: "relock check writes nothing, and ends with status 3 if a lock file would change"},
	{typed: "-no-color -no-colour -color -colour", hint: "set the variable NO_COLOR=1; only terminals get colours"},
	{typed: "-chdir -C -dir -directory", hint: "run relock in that directory, or name directories behind the command, as in relock check prod/network"},
	{typed: "-debug -trace -log-level", flag: "verbose", hint: "write --verbose: it logs each request"},
	{typed: "-yes -y -auto-approve -force -input -backend", hint: "leave it out: relock runs no terraform, and asks you nothing"},
}

// habitHint is the hint about a word that a command does not know; empty if there is none.
func habitHint(cmd *cobra.Command, word string) string {
	for _, h := range habits {
		switch {
		case !slices.Contains(strings.Fields(h.typed), word):
		case h.flag != "" && cmd.Flags().Lookup(h.flag) == nil:
			return flagOfOthers(cmd, h.flag)
		default:
			return h.hint
		}
	}
	return ""
}

// flagOfOthers says which commands have a flag.
func flagOfOthers(cmd *cobra.Command, name string) string {
	return fmt.Sprintf("--%s is a flag of relock %s", name, strings.Join(commandsWith(cmd.Root(), name), ", "))
}
