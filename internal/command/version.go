package command

import (
	"cmp"
	"fmt"
	"io"
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
