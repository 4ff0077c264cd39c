package lockfile

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/provider"
)

// Print returns the content of a lock file as the tool would write it. The
// locks may come in any order. Without a tool the header is Terraform's, which
// is what Terraform makes of a file without a header [terraform 1.11 internal/depsfile/locks_file.go].
//
// The layout is fixed: two comment lines; for each entry, by address, an empty
// line and its block; version and constraints aligned with each other, hashes
// with nothing; one hash a line with a comma behind each. Constraints and
// hashes are left out when there are none.
func Print(tool provider.ToolName, locks []Lock) []byte {
	var b bytes.Buffer
	b.WriteString(header(tool))
	for _, l := range slices.SortedFunc(slices.Values(locks), Lock.compare) {
		b.WriteByte('\n')
		b.WriteString(l.block())
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func header(tool provider.ToolName) string {
	return maintainedBy(tool.Command()+" init") + "\n# Manual edits may be lost in future updates.\n"
}

// maintainedBy is the line by which a lock file tells whose it is.
func maintainedBy(command string) string {
	return `# This file is maintained automatically by "` + command + `".`
}

// StackKeeper is the command that keeps lock files of stacks.
const StackKeeper = "terraform stacks providers lock"

// Headed returns a printed lock file with the header of the command that keeps it; as
// it is if that is empty.
func Headed(keeper string, printed []byte) []byte {
	if keeper == "" {
		return printed
	}
	_, rest, _ := bytes.Cut(printed, []byte("\n"))
	return append([]byte(maintainedBy(keeper)+"\n"), rest...)
}

// block returns the entry's block without a newline behind it.
func (l Lock) block() string {
	if l.kept && l.source != nil {
		return string(l.source)
	}
	var b strings.Builder
	b.WriteString("provider " + quote(l.Addr.String()) + " {\n")
	if l.Constraints.Empty() {
		b.WriteString("  version = " + quote(l.Version.String()) + "\n")
	} else {
		b.WriteString("  version     = " + quote(l.Version.String()) + "\n")
		b.WriteString("  constraints = " + quote(l.Constraints.String()) + "\n")
	}
	if len(l.Hashes) > 0 {
		b.WriteString("  hashes = [\n")
		for _, h := range l.Hashes {
			b.WriteString("    " + quote(string(h)) + ",\n")
		}
		b.WriteString("  ]\n")
	}
	b.WriteString("}")
	return b.String()
}

// quote returns an HCL string literal. Only hashes of unknown schemes can hold
// anything that needs escaping.
func quote(s string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
}
