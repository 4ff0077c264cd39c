// Mutate makes the mistakes of mutants.txt, one at a time, in a copy of the
// repository, and runs the tests that should notice. It fails if any mistake
// lives, or cannot be made any more since the code has changed.
//
//	go run ./.ci/mutate [WORD]   # those with WORD in their names or files alone
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
)

const table = ".ci/mutate/mutants.txt"

type mutant struct {
	name     string
	file     string
	packages []string
	old, new string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(words []string) error {
	ar, err := txtar.ParseFile(table)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyRepository(dir); err != nil {
		return err
	}
	var lives []string
	for _, f := range ar.Files {
		m, err := parse(f)
		if err != nil {
			return err
		}
		if len(words) > 0 && !strings.Contains(m.name, words[0]) && !strings.Contains(m.file, words[0]) {
			continue
		}
		dead, err := m.dies(dir)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", m.name, err)
		case dead:
			fmt.Println("dead  ", m.name)
		default:
			fmt.Println("LIVES ", m.name)
			lives = append(lives, m.name)
		}
	}
	if len(lives) > 0 {
		return fmt.Errorf("no test notices: %s", strings.Join(lives, "; "))
	}
	return nil
}

// copyRepository copies the files that git knows, as they are in the checkout.
func copyRepository(dir string) error {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

func parse(f txtar.File) (mutant, error) {
	m := mutant{name: f.Name}
	for i, line := range strings.Split(strings.TrimRight(string(f.Data), "\n"), "\n") {
		switch {
		case i == 0:
			m.file = line
		case i == 1:
			m.packages = strings.Fields(line)
		case strings.HasPrefix(line, "-"):
			m.old += line[1:] + "\n"
		case strings.HasPrefix(line, "+"):
			m.new += line[1:] + "\n"
		default:
			return m, fmt.Errorf("%s: line %d is neither old nor new", m.name, i+1)
		}
	}
	return m, nil
}

// dies makes the mistake, runs the tests, and takes it back.
func (m mutant) dies(dir string) (bool, error) {
	name := filepath.Join(dir, m.file)
	text, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return false, fmt.Errorf("the old lines stand in %s %d times, want once: bring %s up to date", m.file, n, table)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o644); err != nil {
		return false, err
	}
	if out, err := inside(dir, "build", "./..."); err != nil {
		return false, fmt.Errorf("it does not compile:\n%s", out)
	}
	_, failed := inside(dir, append([]string{"test", "-failfast"}, m.packages...)...)
	return failed != nil, os.WriteFile(name, text, 0o644)
}

func inside(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}
