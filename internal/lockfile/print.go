package lockfile

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/provider"
)

// Print returns the content of a lock file as the tool would write it, with the header of
// the command that keeps it. The locks may be in any order. Without a tool the header is
// Terraform's, which Terraform also gives to a file without a header
// [terraform 1.11 internal/depsfile/locks_file.go].
//
// The layout is fixed: two comment lines, then for each entry, by address, an empty line
// and its block. Version and constraints are aligned with each other. Each hash has a line,
// with a comma at its end. An entry without constraints or hashes does not have the
// argument.
func (f *File) Print() []byte {
	b := append(make([]byte, 0, sizeOf(f.Locks)), header(f.Tool, f.Keeper)...)
	for _, l := range slices.SortedFunc(slices.Values(f.Locks), Lock.Compare) {
		b = append(b, '\n')
		b = append(l.appendBlock(b), '\n')
	}
	return b
}

// sizeOf is the approximate size of the printed entries, to avoid copying.
func sizeOf(locks []Lock) int {
	size := 256
	for _, l := range locks {
		size += 192 + len(l.Constraints.Terms())*16
		for _, h := range l.Hashes {
			size += len(h) + len("    \"\",\n")
		}
	}
	return size
}

func header(tool provider.ToolName, keeper string) string {
	return maintainedBy(cmp.Or(keeper, tool.Command()+" init")) + "\n# Manual edits may be lost in future updates.\n"
}

// maintainedBy is the header line with the command that owns a lock file.
func maintainedBy(command string) string {
	return `# This file is maintained automatically by "` + command + `".`
}

// block returns the entry's block without a newline at its end.
func (l Lock) block() string { return string(l.appendBlock(nil)) }

func (l Lock) appendBlock(b []byte) []byte {
	if l.kept && l.source != nil {
		return append(b, l.source...)
	}
	b = append(AppendQuoted(append(b, "provider "...), l.Addr.String()), " {\n"...)
	if l.Constraints.Empty() {
		b = appendArgument(b, "  version = ", l.Version.String())
	} else {
		b = appendArgument(b, "  version     = ", l.Version.String())
		b = appendArgument(b, "  constraints = ", l.Constraints.String())
	}
	if len(l.Hashes) > 0 {
		b = append(b, "  hashes = [\n"...)
		for _, h := range l.Hashes {
			b = append(AppendQuoted(append(b, hashIndent...), string(h)), ",\n"...)
		}
		b = append(b, "  ]\n"...)
	}
	return append(b, '}')
}

const hashIndent = "    "

func appendArgument(b []byte, name, value string) []byte {
	return append(AppendQuoted(append(b, name...), value), '\n')
}

// AppendQuoted appends a string as an HCL literal. The library is needed only for hashes of
// unknown schemes and for hosts with letters outside ASCII.
func AppendQuoted(b []byte, s string) []byte {
	if !plainASCII(s) {
		return append(b, hclwrite.TokensForValue(cty.StringVal(s)).Bytes()...)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// plainASCII reports whether a text means itself between quotation marks: printable ASCII
// without the start of an escape or a template.
func plainASCII[T string | []byte](s T) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '$' || c == '%' {
			return false
		}
	}
	return true
}
