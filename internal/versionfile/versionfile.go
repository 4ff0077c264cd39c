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

// mention is the version of a tool in a file, with the name that the version manager gives
// the tool.
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

// Parse returns a Pin for each tool that a version file names, in the order of the file.
// The name is one of Paths or Terragrunt, below any directory. A Pin from Terragrunt's file
// has no tool.
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

// tools are the tools by the names that version managers have for them. A name with a colon
// is mise's, and says where mise gets the tool [docs:
// github.com/jdx/mise/tree/main/registry].
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

// oneTool reads a file for one tool: its first line with text. Only tfenv has comments. A
// value of tenv never has a number sign.
func oneTool(tool string) func(src []byte) ([]mention, error) {
	return func(src []byte) ([]mention, error) {
		for n, text := range significantLines(src) {
			return []mention{{tool, text, n}}, nil
		}
		return nil, nil
	}
}

// toolVersions reads a .tool-versions. In a line, the first version counts. If a tool has
// several lines, the last one counts, as for tenv and mise [docs:
// mise.jdx.dev/configuration.html, tofuutils.github.io/tenv].
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
