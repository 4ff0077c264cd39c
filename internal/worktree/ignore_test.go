package worktree

import (
	"testing"

	"github.com/go-git/go-git/v5"

	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

func TestIgnoringLineIsTheLastThatMatches(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Write(t, root, map[string]string{
		".git/info/exclude":   "# for one clone\n/own\n",
		".gitignore":          "*.log\r\n.terraform.lock.hcl\n!/kept/*.hcl\nout/\n",
		"a/.gitignore":        "!.terraform.lock.hcl\n",
		"a/b/.gitignore":      "\n\n.terraform*\n",
		"out/deep/.gitignore": "!.terraform.lock.hcl\n",
		"listed/.gitignore":   "/*\n!live/\n!*.tf  \n",
		"types/.gitignore":    "*\n!*/\n!*.tf\n",
		"globs/.gitignore":    "docs/**\n**/[!x]y\nz/*/z\n",
	})
	g := ReadIgnoreFiles(root)
	for name, want := range map[string]string{
		".terraform.lock.hcl":          ".gitignore:2",
		"x/.terraform.lock.hcl":        ".gitignore:2",
		"kept/.terraform.lock.hcl":     "",
		"a/.terraform.lock.hcl":        "",
		"a/b/.terraform.lock.hcl":      "a/b/.gitignore:3",
		"a/b/c/.terraform.lock.hcl":    "a/b/.gitignore:3",
		"out/deep/.terraform.lock.hcl": ".gitignore:4", // nothing below an ignored directory is taken back
		"own/main.tf":                  ".git/info/exclude:2",
		"main.tf":                      "",
		"listed/live/notes":            "", // a line about the directory is not about its files
		"listed/notes":                 "listed/.gitignore:1",
		"listed/main.tf":               "",
		"types/live/main.tf":           "",
		"types/live/notes":             "types/.gitignore:1",
		"globs/docs":                   "",
		"globs/docs/a/b":               "globs/.gitignore:1",
		"globs/a/ay":                   "globs/.gitignore:2",
		"globs/a/xy":                   "",
		"globs/z/a/z/b":                "globs/.gitignore:3",
		"globs/a/z/a/z":                "",
	} {
		if by := g.By(name).String(); by != want {
			t.Errorf("By(%s) = %q, want %q", name, by, want)
		}
	}
}

func TestTrackedPathsAreNotIgnored(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Write(t, root, map[string]string{"out/committed/main.tf": "#", "out/staged/main.tf": "#"})
	worktreetest.Submodule(t, root, "out/committed/main.tf", "out/sub", "0123456789012345678901234567890123456789")
	repo, err := git.PlainOpen(root)
	if err != nil {
		t.Fatal(err)
	}
	work, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := work.Add("out/staged/main.tf"); err != nil {
		t.Fatal(err)
	}
	worktreetest.Write(t, root, map[string]string{".gitignore": ".*\nout*/\n"})
	const line = ".gitignore:2"
	check := func(when string, dirs, files map[string]string) {
		t.Helper()
		g := ReadIgnoreFiles(root)
		for name, want := range dirs {
			if by := g.ByDir(name).String(); by != want {
				t.Errorf("%s: ByDir(%s) = %q, want %q", when, name, by, want)
			}
		}
		for name, want := range files {
			if by := g.By(name).String(); by != want {
				t.Errorf("%s: By(%s) = %q, want %q", when, name, by, want)
			}
		}
	}
	check("committed and staged",
		map[string]string{".": "", "out": "", "out/committed": "", "out/staged": "", "out/sub/live": "", "out/stage": line, "out/other": line, "out-of": line},
		map[string]string{"out/committed/main.tf": "", "out/staged/main.tf": "", "out/sub/main.tf": "", "out/staged/main": line, "out/other/main.tf": line})
	worktreetest.Replace(t, root, map[string]string{".git/index": ""})
	check("without an index", map[string]string{"out/committed": "", "out/staged": line}, map[string]string{"out/staged/main.tf": line})
	worktreetest.Write(t, root, map[string]string{".git/config": "[extensions]\n\trefstorage = reftable\n"})
	check("of an unknown form", map[string]string{"out/other": ""}, map[string]string{"out/committed/main.tf": line})
}
