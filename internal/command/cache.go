package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
)

func cacheCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{Use: "cache", Short: "Join hash caches"}
	cmd.AddCommand(cacheMergeCommand(env))
	return cmd
}

func cacheMergeCommand(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "merge FILE FILE…", Short: "Add to the first hash cache what the others know", Args: cobra.MinimumNArgs(2),
		Long: `merge adds to the first hash cache what the others know, such as those of the jobs
of a matrix, so that one cache can be kept for all. The first is created if it
does not exist. The others must be as trusted as the first, because what a cache
says ends up in lock files; where they contradict each other, none is believed.
On GitHub no run about the head of a pull request joins any.`,
		RunE: func(_ *cobra.Command, names []string) error { return mergeCaches(env, names[0], names[1:]) },
	}
}

func mergeCaches(env Env, into string, names []string) error {
	if head, _ := env.runtime().Head(); head {
		return problem.Several{cachesOfHead(problem.SeverityError)}
	}
	cache, err := hash.OpenCache(env.path(into))
	if err != nil {
		return fmt.Errorf("opening the hash cache %s: %w", into, file.Cause(err))
	}
	var failed []error
	for _, name := range names {
		if err := cache.Merge(env.path(name)); err != nil {
			failed = append(failed, fmt.Errorf("merging the hash cache %s: %w", name, file.Cause(err)))
		}
	}
	if err := cache.Close(); err != nil {
		failed = append(failed, fmt.Errorf("writing the hash cache %s: %w", into, file.Cause(err)))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "packages in %s: %d\n", safe.Plain(into), cache.Len())
	return err
}
