package command

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/typed"
)

// refuseUnknown makes a command with subcommands, and all such below it, refuse unknown
// words. cobra itself takes any word and prints its help.
func refuseUnknown(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		cmd.Args = noSuchCommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, sub := range cmd.Commands() {
		refuseUnknown(sub)
	}
}

// meantByHelp is the command that --help is about. It refuses an unknown word. cobra looks
// at that flag first, takes the word behind it for its value, and has a function for help
// that cannot fail.
func meantByHelp(cmd *cobra.Command) (*cobra.Command, error) {
	if !cmd.HasSubCommands() {
		return cmd, nil
	}
	meant, words, err := cmd.Find(cmd.Flags().Args())
	if err == nil && meant.HasSubCommands() {
		err = noSuchCommand(meant, words)
	}
	return meant, err
}

// noSuchCommand refuses a word in the place of a command's name.
func noSuchCommand(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	hint := cmd.CommandPath() + " --help lists the commands"
	if near := typed.Nearest(words[0], names); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	if known := habitHint(cmd, words[0]); known != "" && !cmd.HasParent() {
		hint = known
	}
	return refused(fmt.Sprintf("unknown command %q for %q", words[0], cmd.CommandPath()), hint)
}

// unknownFlag says which flag was meant, which verbs have it, or what its value is. Behind a word that is
// no command, it is the word that is wrong.
func unknownFlag(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return noSuchCommand(cmd, words)
	}
	var bare *pflag.ValueRequiredError
	if errors.As(err, &bare) {
		return refused(err.Error(), "write "+written(bare.GetFlag()))
	}
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return err
	}
	name := missing.GetSpecifiedName()
	flag := "--" + name
	if letters := missing.GetSpecifiedShortnames(); letters != "" { // a long flag behind one dash is read as many short ones
		if letters == "elp" {
			letters = "help" // its first letter is a flag
		}
		name, _, _ = strings.Cut(letters, "=")
		flag = "-" + name
	}
	return refused("unknown flag: "+flag, flagHint(cmd, name))
}

// flagHint says what to write in place of a flag that a command does not have.
func flagHint(cmd *cobra.Command, name string) string {
	if known := habitHint(cmd, "-"+name); known != "" {
		return known
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := typed.Nearest(name, names); near != "" {
		return "did you mean --" + near + "?"
	}
	if len(commandsWith(cmd.Root(), name)) > 0 {
		return flagOfOthers(cmd, name)
	}
	if settings.IsKey(name) {
		return name + " is a key of the configuration file; relock config schema describes it"
	}
	return cmd.CommandPath() + " --help lists the flags"
}

// commandsWith are the commands below one that have a flag, without the name of the
// program.
func commandsWith(cmd *cobra.Command, name string) (all []string) {
	for _, sub := range cmd.Commands() {
		if sub.Flags().Lookup(name) != nil {
			all = append(all, commandWords(sub))
		}
		all = append(all, commandsWith(sub, name)...)
	}
	return all
}

// commandWords are the words of a command after the program's name.
func commandWords(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// noWords refuses words behind a command that takes none.
func noWords(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help lists the flags"
	if cmd.Flags().Lookup("config") != nil && (strings.HasSuffix(words[0], ".yml") || strings.HasSuffix(words[0], ".yaml")) {
		hint = "write --config " + words[0]
	}
	return refused(fmt.Sprintf("%s takes flags alone, and no %q", cmd.CommandPath(), words[0]), hint)
}

// valueApart refuses a value that is a word of its own, if its flag needs an equals sign:
// it would be taken for a directory.
func valueApart(env Env, cmd *cobra.Command, words []string) error {
	for i, arg := range env.Args {
		name, long := strings.CutPrefix(arg, "--")
		f := cmd.Flags().Lookup(name)
		if !long || f == nil || f.NoOptDefVal == "" || i+1 == len(env.Args) || !slices.Contains(words, env.Args[i+1]) {
			continue
		}
		word, values := env.Args[i+1], append([]string{"true", "false"}, f.Annotations[takenValues]...)
		if _, err := os.Lstat(env.path(word)); err == nil || !slices.Contains(values, word) {
			continue
		}
		return refused(fmt.Sprintf("%s %s: without an equals sign %s would be a file or a directory, which is not there", arg, word, word),
			fmt.Sprintf("write %s=%s", arg, word))
	}
	return nil
}
