package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/settings"
)

// helpWidth is the columns of help, the usual width of a terminal.
const helpWidth = 80

// section is a heading of help and the names below it, of flags or commands.
type section struct {
	heading string
	names   []string
}

// flagSections are the sections of flags in help. Flags that are in none come first.
var flagSections = []section{
	{"Which root modules", []string{"create", "unlocked", "module-lock", "unreadable-modules", "touched", "repo"}},
	{"Which versions", []string{"tool", "tool-version", "provider", "allow-downgrade", "keep-unreferenced", "accept-re-released", "accept-moved"}},
	{"Which hashes", []string{"platform", "hashes-from", "hash-source", "strict", "exact", "prune"}},
	{"How it runs", []string{"config", "cache", "jobs", "timeout"}},
	{"What it prints", []string{"format", "stats", "verbose", "help"}},
}

// commandSections are the sections of commands in the help of the program. Commands that
// are in none come last.
var commandSections = []section{
	{"Lock files", []string{"scan", "why", "check", "upgrade", "lock", "get", "verify", "diff"}},
	{"Pull requests", []string{"pr", "comment", "action"}},
	{"Setting up", []string{"setup", "config", "merge-driver", "completion"}},
}

// exampleLines are the examples in help, each with a remark, by the path of the command.
var exampleLines = map[string][][2]string{
	"relock": {
		{"relock pr --dry-run", "what would it propose here?"},
		{"relock check", "is every lock file fresh and complete?"},
	},
	"relock scan": {
		{"relock scan", "every root module below"},
		{"relock scan prod --why hashicorp/aws", "every constraint on one provider"},
	},
	"relock why": {
		{"relock why aws", "what holds it, and what would let it go on?"},
		{"relock why hashicorp/aws prod", "in one root module"},
	},
	"relock check": {
		{"relock check", "would upgrade change anything?"},
		{"relock check --lock --touched origin/main", "is this branch complete?"},
	},
	"relock upgrade": {
		{"relock upgrade", "every root module below"},
		{"relock upgrade prod/network", "one of them"},
		{"relock upgrade --provider hashicorp/aws", "one provider"},
	},
	"relock lock": {
		{"relock lock", "every root module below"},
		{"relock lock --platform linux_amd64 --platform darwin_arm64", "for two platforms"},
	},
	"relock verify": {
		{"relock verify", "what proves each hash?"},
		{"relock verify prod/... --fail-on warning", "stricter, below one directory"},
		{"relock verify --offline", "ask nobody"},
	},
	"relock get": {
		{"relock get prod/network", "the modules of one root module, before init"},
		{"relock get prod/network --check", "are they the locked ones, after init?"},
	},
	"relock diff": {
		{"relock diff --git main", "what has changed since a revision?"},
		{"relock diff old.lock.hcl new.lock.hcl", "between two files"},
	},
	"relock pr": {
		{"relock pr --dry-run --format markdown", "show the texts and change nothing"},
		{"relock pr --repo acme/infra", "without a checkout"},
	},
	"relock comment": {{"relock comment --format json", "in a workflow, print the answer for programs"}},
	"relock setup": {
		{"relock setup", "write the workflow, and see what to do next"},
		{"relock setup --check --comments", "also check pull requests and answer comments"},
		{"relock setup --stdout", "look before it is written"},
	},
	"relock config init": {{"relock config init --stdout", "look before it is written"}},
	"relock config validate": {
		{"relock config validate --config draft.yml", "another file"},
		{"relock config validate --operator --config central.yml", "one for many repositories"},
	},
	"relock config show": {
		{"relock config show --config central.yml", "by an operator's file, too"},
		{"relock config show --repo acme/infra --config central.yml", "without a checkout"},
	},
}

// arguments are the names of flags' arguments in help. Flags with a few fixed values list
// these instead.
var arguments = map[string]string{
	"tool-version": "X.Y.Z", "platform": "OS_ARCH", "provider": "PATTERN", "why": "PATTERN",
	"accept-re-released": "PROVIDER@VERSION", "accept-moved": "PATTERN", "touched": "REVISION", "git": "REVISION",
	"repo": "OWNER/NAME", "dashboard-repository": "OWNER/NAME", "org": "OWNER", "where": "CONDITION", "max-new": "NUMBER", "shard": "I/N",
	"config": "FILE", "cache": "FILE", "fleet": "FILE", "ledger": "FILE", "baseline": "FILE",
	"severity": "CODE=SEVERITY", "recheck": "NUMBER", "jobs": "NUMBER", "set": "NAME",
	"max-download": "SIZE", "max-bytes": "BYTES", "timeout": "DURATION", "sarif-category": "NAME",
}

// printHelp replaces cobra's function for help, which needs templates and does not wrap
// lines.
func printHelp(cmd *cobra.Command) {
	_, _ = io.WriteString(cmd.OutOrStdout(), help(cmd))
}

func help(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString(fitted(cmp.Or(cmd.Long, cmd.Short+".")) + "\n")
	b.WriteString("\nUsage:\n")
	for _, form := range forms(cmd) {
		b.WriteString("  " + form + "\n")
	}
	if list := exampleLines[cmd.CommandPath()]; len(list) > 0 {
		b.WriteString("\nExamples:\n")
		for _, e := range list {
			fmt.Fprintf(&b, "  # %s\n  %s\n", e[1], e[0])
		}
	}
	writeCommands(&b, cmd)
	writeFlags(&b, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// fitted is a text with its paragraphs wrapped to helpWidth. Indented text stays as it is.
func fitted(text string) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") && !strings.Contains(p, "\n ") {
			paragraphs[i] = strings.Join(settings.Wrap(p, helpWidth), "\n")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// forms are the ways to write a command.
func forms(cmd *cobra.Command) []string {
	if cmd.HasAvailableSubCommands() {
		return []string{cmd.CommandPath() + " COMMAND"}
	}
	_, words, _ := strings.Cut(cmd.Use, " ")
	var all []string
	for form := range strings.SplitSeq(words, " | ") {
		all = append(all, strings.TrimSpace(cmd.CommandPath()+" "+form)+" [FLAGS]")
	}
	return all
}

// writeCommands lists the commands below one. Those of the program are in sections.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	left := map[string]*cobra.Command{}
	var names []string
	width := 0
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			left[sub.Name()], names, width = sub, append(names, sub.Name()), max(width, len(sub.Name()))
		}
	}
	write := func(s section) {
		heading := "\n" + s.heading + ":\n"
		for _, name := range s.names {
			if sub := left[name]; sub != nil {
				fmt.Fprintf(b, "%s  %-*s  %s\n", heading, width, name, sub.Short)
				heading = ""
				delete(left, name)
			}
		}
	}
	if cmd.HasParent() {
		write(section{"Commands", names})
		return
	}
	for _, s := range commandSections {
		write(s)
	}
	write(section{"Others", names})
}

// writeFlags lists the flags of a command, in sections.
func writeFlags(b *strings.Builder, cmd *cobra.Command) {
	var listed, others []string
	for _, s := range flagSections {
		listed = append(listed, s.names...)
	}
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(listed, f.Name) || f.Name == "help" && cmd.Flags().Lookup("format") == nil {
			others = append(others, f.Name)
		}
	})
	for _, s := range slices.Concat([]section{{"Flags", others}}, flagSections) {
		heading := "\n" + s.heading + ":\n"
		for _, name := range s.names {
			f := cmd.Flags().Lookup(name)
			if f == nil || f.Hidden || slices.Contains(others, name) && s.heading != "Flags" {
				continue
			}
			fmt.Fprintf(b, "%s  %s\n", heading, written(f))
			heading = ""
			for _, line := range settings.Wrap(meaning(f), helpWidth-6) {
				b.WriteString("      " + line + "\n")
			}
		}
	}
}

// written is a flag as people write it, with the name of its argument.
func written(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if f.Value.Type() == "bool" {
		return name
	}
	if words := strings.Join(f.Annotations[takenValues], "|"); f.NoOptDefVal != "" {
		return name + "[=" + words + "]"
	} else if words != "" {
		return name + " " + words
	}
	return name + " " + arguments[f.Name]
}

// meaning is what a flag does, and its default.
func meaning(f *pflag.Flag) string {
	if f.Name == "help" {
		return "Print this."
	}
	if f.Value.Type() == "string" && f.DefValue != "" {
		return f.Usage + " Default: " + f.DefValue + "."
	}
	return f.Usage
}
