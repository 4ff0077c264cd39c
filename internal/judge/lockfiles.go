package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox"
)

// together is how many lock files are in one repository.
const together = 16

// corpus is the folder of recorded lock files, which are no part of the project:
// the one that is named, or one that lies beside the checkout.
func corpus(top, named string) string {
	if named != "" {
		return named
	}
	beside, _ := filepath.Glob(filepath.Join(top, "..", "*", "lockfiles", "index.tsv"))
	if len(beside) == 0 {
		return ""
	}
	return filepath.Dir(filepath.Dir(beside[0]))
}

// lockFileWorlds put the lock files of public repositories into root modules
// that require what they lock. Nobody has their packages here, so registries
// offer the locked versions with other bytes, and a newer one.
func lockFileWorlds(corpus string) ([]world, error) {
	if corpus == "" {
		return nil, nil
	}
	names, err := filepath.Glob(filepath.Join(corpus, "lockfiles", "*.hcl"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("there are no lock files in %s", filepath.Join(corpus, "lockfiles"))
	}
	var worlds []world
	for chunk := range slices.Chunk(names, together) {
		w, err := lockFileWorld(chunk)
		if err != nil {
			return nil, err
		}
		worlds = append(worlds, w)
	}
	return worlds, nil
}

func lockFileWorld(names []string) (world, error) {
	first := step{write: map[string]string{}, args: []string{"scan", "--format", "json", "."}}
	offered := map[provider.Addr][]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return world{}, err
		}
		dir := strings.TrimSuffix(filepath.Base(name), ".hcl")
		var locks []lockfile.Lock
		if file, _ := lockfile.Parse(text, name); file != nil {
			locks = file.Locks
		}
		for _, l := range locks {
			for _, v := range []string{l.Version.String(), fmt.Sprintf("%d.%d.0", l.Version.Major, l.Version.Minor+1)} {
				if !slices.Contains(offered[l.Addr], v) {
					offered[l.Addr] = append(offered[l.Addr], v)
				}
			}
		}
		first.write[dir+"/"+lockfile.Name] = string(text)
		first.write[dir+"/main.tf"] = requiring(locks)
	}
	label := func(name string) string { return strings.TrimSuffix(filepath.Base(name), ".hcl") }
	w := world{name: "lockfiles/" + label(names[0]) + "-" + label(names[len(names)-1]), steps: []step{first}}
	w.offer = sync.OnceValues(func() (*sandbox.World, error) {
		ar := new(txtar.Archive)
		for _, addr := range slices.SortedFunc(maps.Keys(offered), provider.Addr.Compare) {
			text := "platforms: [darwin_arm64, linux_amd64]\nversions: [" + strings.Join(offered[addr], ", ") + "]\n"
			ar.Files = append(ar.Files, txtar.File{Name: "registry/" + addr.String(), Data: []byte(text)})
		}
		return sandbox.ParseWorld(ar)
	})
	for _, args := range [][]string{{"check"}, {"lock"}, {"upgrade"}} {
		w.steps = append(w.steps, step{args: slices.Concat(args, steady, []string{"--platform", "linux_amd64,darwin_arm64", "--format", "json", "."})})
	}
	last := label(names[len(names)-1]) + "/" + lockfile.Name
	w.steps = append(w.steps, step{
		write: map[string]string{"before.hcl": first.write[last]}, args: []string{"diff", "before.hcl", last, "--format", "json"},
	})
	return w, nil
}

// requiring is a configuration that the entries of a lock file are for.
func requiring(locks []lockfile.Lock) string {
	var b strings.Builder
	b.WriteString("terraform {\n  required_providers {\n")
	for i, l := range locks {
		fmt.Fprintf(&b, "    p%d = {\n      source = %q\n", i, l.Addr)
		if c := l.Constraints.String(); c != "" {
			fmt.Fprintf(&b, "      version = %q\n", c)
		}
		b.WriteString("    }\n")
	}
	b.WriteString("  }\n}\n")
	return b.String()
}
