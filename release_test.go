//go:build unix

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// sealed is a repository at a commit, with a list of checksums to seal it by.
func sealed(t *testing.T, list string) (dir string, seal func() (string, error)) {
	t.Helper()
	dir = t.TempDir()
	script, err := filepath.Abs(".ci/seal")
	if err != nil {
		t.Fatal(err)
	}
	mkdir(t, filepath.Join(dir, "install"))
	write(t, filepath.Join(dir, "install", "checksums.txt"), "", 0o644)
	write(t, filepath.Join(dir, "main.go"), "package main\n", 0o644)
	inGit(t, dir, "init", "--quiet", "--initial-branch=main")
	inGit(t, dir, "add", "--all")
	inGit(t, dir, "commit", "--quiet", "--message", "c")
	// What lies about in the work tree is no part of a release.
	write(t, filepath.Join(dir, "main.go"), "package changed\n", 0o644)
	write(t, filepath.Join(dir, "secret"), "x", 0o644)
	checksums := filepath.Join(t.TempDir(), "checksums.txt")
	write(t, checksums, list, 0o644)
	return dir, func() (string, error) {
		cmd := exec.Command(program(t, "bash"), script, "1.2.3", checksums)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
}

func inGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	identity := []string{"-c", "user.name=relock", "-c", "user.email=relock@example.com", "-c", "commit.gpgsign=false"}
	cmd := exec.Command(program(t, "git"), append(identity, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// checksums is a whole list of a release, as GoReleaser writes it.
func checksums(version string) string {
	var list strings.Builder
	for _, of := range []string{"darwin_amd64.tar.gz", "darwin_arm64.tar.gz", "linux_amd64.tar.gz", "linux_arm64.tar.gz", "windows_amd64.zip", "windows_arm64.zip"} {
		fmt.Fprintf(&list, "%x  relock_%s_%s\n", sha256.Sum256([]byte(of)), version, of)
	}
	return list.String()
}

// A release's commit is what was built and the checksums, off the branch.
func TestSealAddsTheChecksumsAlone(t *testing.T) {
	t.Parallel()
	dir, seal := sealed(t, checksums("1.2.3"))
	built := inGit(t, dir, "rev-parse", "main")
	commit, err := seal()
	if err != nil {
		t.Fatalf("%v: %s", err, commit)
	}
	if got := inGit(t, dir, "rev-parse", "v1.2.3"); got != commit {
		t.Errorf("the tag is %s, want %s", got, commit)
	}
	if got := inGit(t, dir, "diff", "--name-status", "main", "v1.2.3"); got != "M\tinstall/checksums.txt" {
		t.Errorf("the release changes %q, want the list alone", got)
	}
	if got := inGit(t, dir, "show", "v1.2.3:install/checksums.txt"); got+"\n" != checksums("1.2.3") {
		t.Errorf("the list of the release is %q", got)
	}
	if got := inGit(t, dir, "rev-parse", "main", "v1.2.3^"); got != built+"\n"+built {
		t.Errorf("main and the release's parent are %q, want %s", got, built)
	}
	inGit(t, dir, "tag", "--delete", "v1.2.3")
	if again, err := seal(); err != nil || again != commit {
		t.Errorf("sealed again it is %s, %v; want %s", again, err, commit)
	}
}

// A list that lacks a machine, or is that of another version, would leave people
// without a program after the tag is there.
func TestSealRefusesAnotherList(t *testing.T) {
	t.Parallel()
	whole := checksums("1.2.3")
	for name, list := range map[string]string{
		"empty": "", "another version": checksums("1.2.4"), "a dot is any character": checksums("1x2.3"),
		"no windows": whole[:strings.Index(whole, "windows")-74], "cut off": whole[:len(whole)-4],
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			dir, seal := sealed(t, list)
			if out, err := seal(); err == nil || !strings.Contains(out, "has no checksum of relock_1.2.3_") {
				t.Errorf("%v: %s", err, out)
			}
			if got := inGit(t, dir, "tag"); got != "" {
				t.Errorf("the tags are %s, want none", got)
			}
		})
	}
}

// TestReleaseHasWhatTheActionLooksFor compares GoReleaser's configuration with the
// names in the scripts, which tests hold to those of a list.
func TestReleaseHasWhatTheActionLooksFor(t *testing.T) {
	t.Parallel()
	var release struct {
		Builds []struct {
			Goos, Goarch, Flags, Ldflags []string
		}
		Archives []struct {
			Name    string `yaml:"name_template"`
			Formats []string
		}
	}
	if err := yaml.Unmarshal([]byte(content(t, ".goreleaser.yaml")), &release); err != nil {
		t.Fatal(err)
	}
	if len(release.Builds) != 1 || len(release.Archives) != 1 {
		t.Fatalf("%d builds and %d archives, want one of each", len(release.Builds), len(release.Archives))
	}
	if got := release.Archives[0]; got.Name != "relock_{{ .Version }}_{{ .Os }}_{{ .Arch }}" || strings.Join(got.Formats, " ") != "tar.gz" {
		t.Errorf("archives are %+v", got)
	}
	named := strings.NewReplacer("{{ .Version }}", "VERSION", "{{ .Os }}", "OS", "{{ .Arch }}", "ARCH").Replace(release.Archives[0].Name)
	if !strings.Contains(content(t, "docs/install.md"), "`"+named+".tar.gz`") {
		t.Errorf("docs/install.md does not name the archives %s.tar.gz", named)
	}
	build := release.Builds[0]
	if got := strings.Join(append(build.Goos, build.Goarch...), " "); got != "linux darwin windows amd64 arm64" {
		t.Errorf("built for %s", got)
	}
	if got := strings.Join(append(build.Flags, build.Ldflags...), " "); got != "-trimpath -buildvcs=false -s -w -X main.version={{ .Version }} -X main.commit={{ .FullCommit }}" {
		t.Errorf("flags %s", got)
	}
}

// ownWorkflow is a file of .github/workflows.
type ownWorkflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Needs, Environment string
		Permissions        map[string]string
		Steps              []struct{ Name, Uses, Run string }
	}
}

func readWorkflow(t *testing.T, name string) ownWorkflow {
	t.Helper()
	var w ownWorkflow
	if err := yaml.Unmarshal([]byte(content(t, ".github/workflows/"+name+".yml")), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// A program that runs in a job that can sign can sign anything. So such a job builds and
// attests, begins after the tests of another job, and waits for reviewers.
func TestReleaseSignsBesideNothingElse(t *testing.T) {
	t.Parallel()
	actions := []string{"actions/checkout@", "actions/setup-go@", "actions/attest-build-provenance@", "actions/upload-artifact@"}
	commands := []string{
		`go run "$GORELEASER" release `, "image=ghcr.io/$GITHUB_REPOSITORY", `printf '%s' "$GH_TOKEN" | docker login ghcr.io `,
		"docker buildx imagetools create ", "digest=$(docker buildx imagetools inspect ", `printf 'digest=%s\n' "$digest" >>"$GITHUB_OUTPUT"`,
	}
	begins := func(line string, known []string) bool {
		return slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(line, k) })
	}
	w, signing, tested := readWorkflow(t, "release"), 0, false
	if len(w.Permissions) > 0 {
		t.Errorf("all jobs have %v", w.Permissions)
	}
	for name, job := range w.Jobs {
		for _, s := range job.Steps {
			tested = tested || strings.TrimSpace(s.Run) == ".ci/run" && w.Jobs["build"].Needs == name
		}
		if job.Permissions["id-token"] == "" {
			continue
		}
		signing++
		if job.Environment != "release" {
			t.Errorf("the job %s signs without an environment", name)
		}
		if job.Permissions["contents"] == "write" {
			t.Errorf("the job %s signs and can push", name)
		}
		for _, s := range job.Steps {
			if s.Uses != "" && !begins(s.Uses, actions) {
				t.Errorf("the job %s can sign and uses %s", name, s.Uses)
			}
			for line := range strings.Lines(s.Run) {
				if !begins(strings.TrimSpace(line), commands) {
					t.Errorf("the job %s can sign and runs %s", name, line)
				}
			}
		}
	}
	if signing != 2 || !tested {
		t.Errorf("%d jobs can sign, want those of the archives and of the image; tests before: %t", signing, tested)
	}
}

// A version is part of file names and of commands.
func TestReleaseTakesOneLineForAVersion(t *testing.T) {
	t.Parallel()
	check := readWorkflow(t, "release").Jobs["test"].Steps[0].Run
	for version, good := range map[string]bool{
		"1.2.3": true, "0.0.1": true, "1.2.3-rc.1": true,
		"": false, "1.2": false, "v1.2.3": false, "01.2.3": false, "1.2.3 ": false, "1.2.3\n": false,
		"1.2.3\nrm -r .": false, "x\n1.2.3": false, "1.2.3-rc_1": false, "1.2.3-$(id)": false, "../1.2.3": false,
	} {
		cmd := exec.Command(program(t, "bash"), "-e", "-c", check)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "VERSION=" + version}
		if err := cmd.Run(); (err == nil) != good {
			t.Errorf("version %q: %v, want it taken: %t", version, err, good)
		}
	}
}

// The image is tried as people use it: it locks a module, before anybody can pull it.
func TestImageLocksAModuleBeforeItIsPushed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ci", "release"} {
		tried, pushed := "", false
		for _, s := range readWorkflow(t, name).Jobs["image"].Steps {
			for line := range strings.Lines(s.Run) {
				pushed = pushed || strings.Contains(line, "docker push ")
				_, args, locks := strings.Cut(line, " lock ")
				if locks && !pushed && strings.Contains(line, "docker run ") {
					tried = "relock lock " + strings.TrimSpace(args)
				}
			}
		}
		if tried == "" {
			t.Errorf("%s.yml does not lock a module with the image before it pushes it", name)
		}
		if err := judgeCode(t, tried); err != nil {
			t.Errorf("%s.yml: %s: %v", name, tried, err)
		}
	}
}

// On a branch nothing is downloaded: what a commit of main names would be bytes of
// another.
func TestNoBranchNamesARelease(t *testing.T) {
	t.Parallel()
	if list := content(t, "install/checksums.txt"); list != "" && inGit(t, ".", "tag", "--points-at", "HEAD") == "" {
		t.Errorf("install/checksums.txt is not empty, and this commit is no release:\n%s", list)
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}
