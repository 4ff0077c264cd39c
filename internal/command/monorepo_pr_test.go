package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/sandbox"
)

// BenchmarkMonorepoPR measures relock pr --dry-run in a clone of root modules of
// BenchmarkMonorepo, with small packages. The hash cache knows all packages, and every
// tenth lock file is to be upgraded.
//
//	clean  the clone is as the commit on GitHub
//	dirty  200 of its files are edited, and it has 200 untracked and 200 ignored files
//
// The edits change nothing that a lock file depends on. The metrics are those of
// BenchmarkMonorepo. It fails if a package is downloaded, or if other lock files are to be
// upgraded.
//
//	go test -run '^$' -bench MonorepoPR -benchtime 1x -timeout 1h ./internal/command
func BenchmarkMonorepoPR(b *testing.B) {
	m := serveMonorepo(b, registryShape{slices.Repeat([]float64{0.25}, len(monorepoSizes)), monorepoVersions, monorepoPlatforms})
	for _, roots := range []int{100, 1000, 5000} {
		for _, state := range []string{"clean", "dirty"} {
			b.Run(fmt.Sprintf("%s/%d", state, roots), func(b *testing.B) {
				clone := m.clone(b, roots)
				if state == "dirty" {
					soil(b, clone)
				}
				b.ResetTimer()
				before := m.cpu
				var out []byte
				for b.Loop() {
					out = m.exec(b, m.sandbox.CLIConfig(), clone, m.program, "pr", "--dry-run", "--format", "json")
				}
				b.ReportMetric((m.cpu-before).Seconds()/float64(b.N), "cpu-s")
				reportStats(b, out)
				m.checkDownloads(b, 0)
				var report struct {
					PullRequests []struct{ Directories []string } `json:"pull_requests"`
				}
				if err := json.Unmarshal(out, &report); err != nil {
					b.Fatal(err)
				}
				proposed := 0
				for _, p := range report.PullRequests {
					proposed += len(p.Directories)
				}
				if proposed != roots/10 {
					b.Errorf("%d root modules are to be upgraded, want %d", proposed, roots/10)
				}
			})
		}
	}
}

// clone makes the monorepo a repository on GitHub, and points relock at it in a clone.
func (m *monorepo) clone(b *testing.B, roots int) string {
	b.Helper()
	dir := m.write(b, roots, "~> %d.0")
	m.fill(b, dir)
	world := &txtar.Archive{Files: []txtar.File{{Name: "github/acme/infra/main/.gitignore", Data: []byte("build/\n")}}}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, ".git/") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if strings.HasSuffix(name, "0/main.tf") {
			text = bytes.ReplaceAll(text, []byte("~> 1.0"), []byte(">= 1.0"))
		}
		world.Files = append(world.Files, txtar.File{Name: "github/acme/infra/main/" + name, Data: text})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	w, err := sandbox.ParseWorld(world)
	github := serve(b, w, err)
	clone := filepath.Join(b.TempDir(), "infra")
	if _, err := github.GitHub().Clone("acme/infra", "main", clone); err != nil {
		b.Fatal(err)
	}
	m.more = []string{"GITHUB_API_URL=" + strings.TrimSuffix(github.GitHubAPI(), "/"), "GITHUB_GRAPHQL_URL=" + github.GraphQL(), "GITHUB_TOKEN=" + sandbox.ActionsToken}
	return clone
}

// soil edits files of a clone, and adds files that git does not track or ignores.
func soil(b *testing.B, clone string) {
	b.Helper()
	roots := rootsIn(b, clone)
	for _, root := range roots[:min(200, len(roots))] {
		edited, err := os.OpenFile(filepath.Join(root, "main.tf"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			b.Fatal(err)
		}
		_, err = edited.WriteString("# later\n")
		if err := errors.Join(err, edited.Close()); err != nil {
			b.Fatal(err)
		}
		write(b, filepath.Join(root, "more.tf"), []byte("locals {\n  more = 1\n}\n"))
		write(b, filepath.Join(root, "build", "out.tf"), []byte("locals {\n  more = 1\n}\n"))
	}
}
