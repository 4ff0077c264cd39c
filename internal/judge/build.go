package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// program is a build of relock.
type program struct {
	path string
	env  []string // beside that of a world
}

// checkout is the top directory of the repository that the judge runs in.
func checkout(ctx context.Context) (string, error) {
	out, err := execute(ctx, "", "git", "rev-parse", "--show-toplevel")
	return strings.TrimSpace(out), err
}

// builds makes both programs. A commit is built where it is checked out in the
// temporary directory, a checkout where it lies.
func builds(ctx context.Context, top, temp string, o options) (base, head program, err error) {
	base, err = buildCommit(ctx, top, temp, "base", o.base)
	if err != nil {
		return base, head, err
	}
	if o.head != "" {
		head, err = buildCommit(ctx, top, temp, "head", o.head)
		return base, head, err
	}
	head, err = build(ctx, top, filepath.Join(temp, "head-bin", "relock"))
	return base, head, err
}

func buildCommit(ctx context.Context, top, temp, name, commit string) (program, error) {
	dir := filepath.Join(temp, name)
	if _, err := execute(ctx, top, "git", "worktree", "add", "--quiet", "--detach", dir, commit); err != nil {
		return program{}, err
	}
	// An interrupted judge leaves no worktree in the repository's list.
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		execute(ctx, top, "git", "worktree", "remove", "--force", dir)
	}()
	return build(ctx, dir, filepath.Join(temp, name+"-bin", "relock"))
}

// build trims paths and versions, so that equal sources are equal programs and
// are compiled once.
func build(ctx context.Context, dir, to string) (program, error) {
	_, err := execute(ctx, dir, "go", "build", "-trimpath", "-buildvcs=false", "-o", to, ".")
	return program{path: to}, err
}

func execute(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, talk.String())
	}
	return string(out), nil
}
