// Package versionfile reads the files from which version managers (tfenv, tenv,
// asdf and mise) take the releases of tools. For each tool that a file names, it
// returns a Pin.
//
// relock does not know which version manager is used. So it reads all these
// files, and gives a value the meaning that one of the managers gives it. It asks
// no server for releases. The path of a file says which directory it is for.
// Callers decide which of several files counts.
package versionfile

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// maxSize bounds the bytes of a file.
const maxSize = 1 << 20

// mention is what a file says of a tool, by the name that its version manager has for it.
type mention struct {
	tool  string
	value string
	line  int
}

// layouts are the version files by their path from the directory that they are for, in the
// order in which they count there.
var layouts = []struct {
	name string
	read func(src []byte) ([]mention, error)
}{
	{".opentofu-version", oneTool("opentofu")},
	{".terraform-version", oneTool("terraform")},
	{".tool-versions", toolVersions},
	{"mise.toml", miseTools},
	{".mise.toml", miseTools},
	{".config/mise.toml", miseTools},
}

// Terragrunt is the file in which tenv finds the release of Terragrunt.
const Terragrunt = ".terragrunt-version"

// Paths are the paths of version files from the directory that they are for, in the order
// in which they count there. Terragrunt's is none of them.
func Paths() []string {
	var names []string
	for _, f := range layouts {
		names = append(names, f.name)
	}
	return names
}

// For returns the directory that a version file is for, by its path; false if the path is
// that of another file.
func For(name string) (dir string, ok bool) {
	for _, f := range layouts {
		above, found := strings.CutSuffix("/"+name, "/"+f.name)
		if found && (!ok || len(above) < len(dir)) { // .config/mise.toml is a mise.toml, too
			dir, ok = above, true
		}
	}
	return path.Clean(strings.TrimPrefix(dir, "/")), ok
}

// Parse returns what a version file says of Terraform and OpenTofu, in the order in which
// it does: a Pin for each tool that it names. The name is the path of one of Paths, or of
// Terragrunt's file, which has a Pin without a tool.
func Parse(name string, src []byte) ([]Pin, error) {
	if len(src) > maxSize {
		return nil, fmt.Errorf("it is larger than %d MiB", maxSize>>20)
	}
	read := oneTool("")
	for _, f := range layouts {
		if strings.HasSuffix("/"+name, "/"+f.name) {
			read = f.read
		}
	}
	found, err := read(src)
	var pins []Pin
	for _, n := range found {
		pin := newPin(tools[n.tool], n.value)
		pin.Place = problem.Place{Path: name, Line: n.line}
		if !slices.ContainsFunc(pins, func(p Pin) bool { return p.Tool == pin.Tool }) {
			pins = append(pins, pin)
		}
	}
	return pins, err
}

// tools are the names that version managers have for the tools. Those with a colon are
// mise's, of where it has a tool from [docs: github.com/jdx/mise/tree/main/registry].
var tools = map[string]provider.ToolName{
	"terraform":                        provider.Terraform,
	"aqua:hashicorp/terraform":         provider.Terraform,
	"vfox:mise-plugins/vfox-terraform": provider.Terraform,
	"opentofu":                         provider.OpenTofu,
	"aqua:opentofu/opentofu":           provider.OpenTofu,
	"asdf:virtualroot/asdf-opentofu":   provider.OpenTofu,
	"github:opentofu/opentofu":         provider.OpenTofu,
	"ubi:opentofu/opentofu":            provider.OpenTofu,
}

// oneTool reads a file that is for one tool: its first line that says anything. Comments
// are tfenv's; tenv has none, and nothing that it reads has a number sign.
func oneTool(tool string) func(src []byte) ([]mention, error) {
	return func(src []byte) ([]mention, error) {
		for n, text := range significantLines(src) {
			return []mention{{tool, text, n}}, nil
		}
		return nil, nil
	}
}

// toolVersions reads a .tool-versions. Of several versions of a tool in a line the first
// is the one that runs, and of several lines the last counts, as for tenv and mise
// [docs: mise.jdx.dev/configuration.html, tofuutils.github.io/tenv].
func toolVersions(src []byte) ([]mention, error) {
	var found []mention
	for n, text := range significantLines(src) {
		words := strings.Fields(text)
		tool := strings.TrimRight(words[0], ":")
		if len(words) < 2 || tools[tool] == "" {
			continue
		}
		version := mention{tool, words[1], n}
		if same := slices.IndexFunc(found, func(n mention) bool { return n.tool == tool }); same >= 0 {
			found[same] = version
		} else {
			found = append(found, version)
		}
	}
	return found, nil
}

// significantLines yields the lines of a file that are not empty, without comments and
// spaces around them, each with its number.
func significantLines(src []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range bytes.Lines(src) {
			n++
			line, _, _ = bytes.Cut(line, []byte("#"))
			line = bytes.TrimSpace(line)
			if len(line) > 0 && !yield(n, string(line)) {
				return
			}
		}
	}
}
