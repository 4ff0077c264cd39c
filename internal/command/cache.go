package command

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/report"
)

func (c *cli) cache() *cobra.Command {
	cmd := &cobra.Command{Use: "cache", Short: "Join hash caches"}
	cmd.AddCommand(c.cacheMerge())
	return cmd
}

func (c *cli) cacheMerge() *cobra.Command {
	return &cobra.Command{
		Use: "merge FILE FILE…", Short: "Add to the first hash cache what the others know", Args: cobra.MinimumNArgs(2),
		Long: `merge adds to the first hash cache what the others know, such as those of the jobs
of a matrix, so that one cache can be kept for all. The first is created if it
does not exist. The others must be as trusted as the first, because what a cache
says ends up in lock files; where they contradict each other, none is believed.`,
		RunE: func(_ *cobra.Command, names []string) error { return c.mergeCaches(names[0], names[1:]) },
	}
}

func (c *cli) mergeCaches(into string, names []string) error {
	cache, err := hash.OpenCache(c.path(into))
	if err != nil {
		return fmt.Errorf("opening the hash cache %s: %w", into, cause(err))
	}
	var failed []error
	for _, name := range names {
		if err := cache.Merge(c.path(name)); err != nil {
			failed = append(failed, fmt.Errorf("merging the hash cache %s: %w", name, cause(err)))
		}
	}
	if err := cache.Close(); err != nil {
		failed = append(failed, fmt.Errorf("writing the hash cache %s: %w", into, cause(err)))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.env.Stdout, "packages in %s: %d\n", report.Plain(into), cache.Len())
	return err
}

// path makes the name of a file one that does not depend on the process.
func (c *cli) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.env.WorkDir, name)
}
