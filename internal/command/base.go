package command

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/run"
)

// runSettings are the settings of a run. A pull request's head chooses nothing:
// where that is checked out, the repository's configuration file is the one of
// the base. Repositories that are not checked out have files of their own, and
// the one that lies around here is not for them.
func (c *cli) runSettings(ctx context.Context, strongest ...config.Values) (config.Config, error) {
	rt := action.New(c.env.Getenv, c.env.Stdout)
	values := config.Merge(strongest...)
	if len(values["repo"].Items) > 0 {
		return c.settingsOf(embed.FS{}, strongest...)
	}
	head, _ := rt.Head()
	if !head || c.operators(values) {
		cfg, _, err := c.settings(strongest...)
		return cfg, err
	}
	root, name, err := c.ownFile(values)
	if err != nil {
		return config.Config{}, err
	}
	cfg, _, err := c.resolve(config.File{}, strongest)
	if err != nil {
		return cfg, err
	}
	base, err := c.baseFiles(ctx, cfg, root, rt.Base(), fileNames(name))
	if err != nil || base == nil {
		return cfg, err
	}
	file, err := baseFile(base, name)
	if err != nil {
		return cfg, fmt.Errorf("on the base of the pull request: %w", err)
	}
	cfg, _, err = c.resolve(file, strongest)
	return cfg, err
}

// operators reports whether the configuration file is one that the operator
// names outside of all that is read, the checkout at hand included.
func (c *cli) operators(values config.Values) bool {
	path := c.configPath(values)
	return path != "" && run.Apart(path, c.roots(values))
}

// roots are the repositories that are read from disk or at hand.
func (c *cli) roots(values config.Values) []string {
	return append(c.scanned(values), run.RepositoryOf(c.env.WorkDir))
}

// configPath is the path of the configuration file that is named; empty if none
// is.
func (c *cli) configPath(values config.Values) string {
	path := filepath.FromSlash(values["config"].Items[0])
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.env.WorkDir, path)
}

// ownFile is where the repository's own configuration file is: in the repository
// at root, by a name that is empty unless it is named.
func (c *cli) ownFile(values config.Values) (root, name string, err error) {
	path := c.configPath(values)
	if path == "" {
		return run.RepositoryOf(c.env.WorkDir), "", nil
	}
	for _, root := range c.roots(values) {
		if rel, err := filepath.Rel(root, path); err == nil && fs.ValidPath(filepath.ToSlash(rel)) {
			return root, filepath.ToSlash(rel), nil
		}
	}
	return "", "", fmt.Errorf("the configuration file %s leads into the repository; name it by its path there", values["config"].Items[0])
}

// baseFiles are those of the named files that the base has: by the checkout, if
// that has the commit, else by GitHub. Where neither can be asked there are none,
// and the report says so.
func (c *cli) baseFiles(ctx context.Context, cfg config.Config, root, base string, names []string) (fs.FS, error) {
	if base != "" {
		if files, ok := run.Committed(root, base, names); ok {
			return files, nil
		}
	}
	if base == "" || cfg.Token == "" && cfg.App.ID == "" {
		c.notices = append(c.notices, provider.Diagnostic{
			Code: provider.CodeSettings, Severity: provider.SeverityWarning,
			Message: "the configuration file is not read: that of a pull request's head decides nothing, and its base is not here",
			Hint:    "give the step a token that may read contents, or let actions/checkout fetch the base with fetch-depth: 0",
		})
		return nil, nil
	}
	req := c.withRepository(c.request(run.Scan, nil, cfg))
	s, err := run.Open(c.runEnv(cfg.Verbose), req)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Committed(ctx, req.Pull.Hub, req.Pull.Repository, base, names)
}

// fileNames are those that a configuration file may have.
func fileNames(named string) []string {
	if named != "" {
		return []string{named}
	}
	return config.FileNames
}

// baseFile reads the configuration file of the base. One that the pull request
// adds is not there yet.
func baseFile(base fs.FS, name string) (config.File, error) {
	if name == "" {
		found, diagnostics := config.Locate(base)
		if len(diagnostics) > 0 {
			return config.File{}, problems(diagnostics)
		}
		name = found
	}
	file, err := repositoryFile(base, name)
	if errors.Is(err, fs.ErrNotExist) {
		return config.File{}, nil
	}
	return file, err
}
