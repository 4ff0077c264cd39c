package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/verbs"
)

func diffCommand(env Env) *cobra.Command {
	var revision string
	var asText, external bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW | --git REV [DIR…] | --textconv FILE | --git-external PATH OLD OLDHEX OLDMODE NEW NEWHEX NEWMODE",
		Short: "Show the difference of lock files for people",
		Long: `diff compares two lock files and says what it means: which providers moved, which
hashes were completed, which constraints changed. Lock files of modules
(.modules.lock.hcl) are compared, too. An empty file is a lock file without
entries, so /dev/null is one that was not there.

With --git it compares the lock files in the directories with those of a
revision. With --textconv and --git-external it serves git diff, which
docs/command-line.md says how to set up.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, s, err := settingsOfCommand(cmd, env, verbs.Diff)
			if err != nil {
				return err
			}
			var r report.Report
			switch {
			case asText:
				return textconv(env, args)
			case external:
				r, err = externalDiff(env, args)
			case revision != "":
				r, err = run.History(env.ofRun(s), revision, args)
			default:
				r, err = compare(env, args)
			}
			if err != nil {
				return err
			}
			if err := show(env, r, s); err != nil || external {
				return err // git takes any status for a failure of the driver
			}
			return status(r)
		},
	}
	addFlags(cmd, verbs.Diff)
	cmd.Flags().StringVar(&revision, "git", "", "Compare with this revision of the repository.")
	cmd.Flags().BoolVar(&asText, "textconv", false, "Print one lock file as text that git can compare.")
	cmd.Flags().BoolVar(&external, "git-external", false, "Be git's external diff driver.")
	cmd.MarkFlagsMutuallyExclusive("git", "textconv", "git-external")
	return cmd
}

// compare reports the difference of two files.
func compare(env Env, args []string) (report.Report, error) {
	if len(args) != 2 {
		return report.Report{}, refused(fmt.Sprintf("diff compares two files, OLD and NEW; %d are given", len(args)),
			"run `relock diff --git HEAD`, which compares the lock files here with those that are committed")
	}
	return compareFiles(env, args[1], args[0], args[1])
}

// externalDiff is called by git with seven arguments, and with two more for a
// renamed file: see GIT_EXTERNAL_DIFF in the git manual.
func externalDiff(env Env, args []string) (report.Report, error) {
	if len(args) != 7 && len(args) != 9 {
		return report.Report{}, errors.New("--git-external is for git, which gives PATH OLD OLDHEX OLDMODE NEW NEWHEX NEWMODE")
	}
	return compareFiles(env, args[0], args[1], args[4])
}

func compareFiles(env Env, name, oldName, newName string) (report.Report, error) {
	r := report.Report{Verb: verbs.Diff}
	before, err := read(env, oldName)
	if err != nil {
		return r, err
	}
	after, err := read(env, newName)
	if err != nil {
		return r, err
	}
	r.Modules = []report.Module{report.FromLocks(filepath.ToSlash(name), before, after)}
	return r, nil
}

// textconv prints a lock file for git's own diff. It prints any other content unchanged, so
// that git shows at least that.
func textconv(env Env, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("--textconv takes one file; %d are given", len(args))
	}
	src, err := read(env, args[0])
	if err != nil {
		return err
	}
	if providers, _ := lockfile.Parse(src, args[0]); providers != nil {
		return render.Listing(env.Stdout, providers.Locks, nil)
	}
	if modules, _ := modulelock.Parse(src, args[0]); modules != nil {
		return render.Listing(env.Stdout, nil, modules.Entries)
	}
	_, err = env.Stdout.Write(src)
	return err
}

func read(env Env, name string) ([]byte, error) {
	src, err := os.ReadFile(env.path(name))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, file.Cause(err))
	}
	return src, nil
}
