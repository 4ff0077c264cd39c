package command

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// maxCompleted bounds the files and directories that the completion of a provider's name
// looks at.
const maxCompleted = 20_000

// offerCompletions lets shells complete what flags and arguments may be, for a
// command and all below it.
func offerCompletions(env Env, cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		offerCompletions(env, sub)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := completionOf(env, f); complete != nil {
			if _, list := f.Value.(pflag.SliceValue); list {
				complete = eachOf(complete)
			}
			// It fails only if the flag does not exist, or has completions already.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
		}
	})
	if strings.Contains(cmd.Use, "DIR") && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	}
	if dirs := cmd.ValidArgsFunction; strings.Contains(cmd.Use, "PROVIDER [DIR") {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, words []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(words) == 0 {
				return lockedProviders(os.DirFS(env.WorkDir)), cobra.ShellCompDirectiveNoFileComp
			}
			return dirs(cmd, words, begun)
		}
	}
}

// completionOf is what completes a flag; nil if nothing is known.
func completionOf(env Env, f *pflag.Flag) cobra.CompletionFunc {
	switch f.Name {
	case "platform":
		words := []string{"auto", "all"}
		for _, p := range provider.KnownPlatforms {
			words = append(words, p.String())
		}
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	case "provider", "why":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return lockedProviders(os.DirFS(env.WorkDir)), cobra.ShellCompDirectiveNoFileComp
		}
	case "config":
		return cobra.FixedCompletions([]string{"yml", "yaml"}, cobra.ShellCompDirectiveFilterFileExt)
	}
	if words := f.Annotations[takenValues]; len(words) > 0 {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	return nil
}

// eachOf completes the last item of a list with commas. It offers no item that the list has
// already.
func eachOf(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, words []string, begun string) ([]string, cobra.ShellCompDirective) {
		at := strings.LastIndex(begun, ",") + 1
		before, item := begun[:at], begun[at:]
		items, directive := complete(cmd, words, item)
		there := strings.Split(before, ",")
		var lists []string
		for _, item := range items {
			if !slices.Contains(there, item) {
				lists = append(lists, before+item)
			}
		}
		return lists, directive
	}
}

// lockedProviders are the providers in the lock files of a tree, sorted. Errors end the
// search.
func lockedProviders(tree fs.FS) []string {
	var names []string
	seen := 0
	_ = fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		seen++
		switch {
		case err != nil || seen > maxCompleted:
			return fs.SkipAll
		case d.IsDir() && path != "." && (d.Name()[0] == '.' || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.Name() != lockfile.Name || !d.Type().IsRegular():
			return nil
		}
		src, err := fs.ReadFile(tree, path)
		if err != nil {
			return nil
		}
		if file, _ := lockfile.Parse(src, path); file != nil {
			for _, l := range file.Locks {
				names = append(names, l.Addr.Short())
			}
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names)
}
