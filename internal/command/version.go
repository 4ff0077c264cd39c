package command

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Build is where the program comes from.
type Build struct {
	Version string // without a v; dev if it is no release
	Commit  string // empty if nothing says; with a remark if files were changed
	With    string // toolchain and platform, as debug.BuildInfo has them
}

// Stamp returns the build. It uses the values that a release's linker was given. Otherwise
// it uses Go's records: the module's version after go install, or the checkout's commit
// after go build. info may be nil.
func Stamp(version, commit string, info *debug.BuildInfo) Build {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	recorded := strings.TrimPrefix(info.Main.Version, "v")
	if recorded == "(devel)" {
		recorded = ""
	}
	if revision := set["vcs.revision"]; commit == "" && revision != "" {
		commit = revision
		if set["vcs.modified"] == "true" {
			commit += " (and changes)"
		}
	}
	return Build{
		Version: cmp.Or(strings.TrimPrefix(version, "v"), recorded, "dev"),
		Commit:  commit,
		With:    strings.TrimSpace(info.GoVersion + " " + strings.Trim(set["GOOS"]+"/"+set["GOARCH"], "/")),
	}
}

// wholeCommit matches the beginning of a build's commit. GitHub takes no shorter one.
var wholeCommit = regexp.MustCompile(`^[0-9a-f]{40}\b`)

// commit is the whole commit of the build, without the remark; empty if it is unknown.
func (b Build) commit() string { return wholeCommit.FindString(b.Commit) }

// released reports whether the version is that of a release, and no pseudo-version of Go.
func (b Build) released() bool { return releaseVersion.MatchString(b.Version) }

var releaseVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

// revision is a revision of relock with the files of this build: its commit, or the newest
// release's tag.
func (b Build) revision() string {
	if b.released() {
		return "v1"
	}
	return cmp.Or(b.commit(), "main")
}

// String is the answer of relock version.
func (b Build) String() string {
	return fmt.Sprintf("relock %s\ncommit: %s\nbuild: %s\n", b.Version, cmp.Or(b.Commit, "unknown"), cmp.Or(b.With, "unknown"))
}

func versionCommand(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, its commit and how it was built", Args: noWords,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(env.Stdout, env.Build.String())
			return err
		},
	}
}
