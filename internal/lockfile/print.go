package lockfile

import (
	"cmp"
	"slices"

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
	return (&File{Tool: tool, Locks: locks}).Print()
}

// Print is Print for the file's locks, with the header of the command that keeps it.
func (f *File) Print() []byte {
	b := append(make([]byte, 0, sizeOf(f.Locks)), header(f.Tool, f.Keeper)...)
	for _, l := range slices.SortedFunc(slices.Values(f.Locks), Lock.Compare) {
		b = append(b, '\n')
		b = append(l.appendBlock(b), '\n')
	}
	return b
}

// sizeOf is about as much as the entries take in print, so that bytes are seldom
// moved.
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

// maintainedBy is the line by which a lock file tells whose it is.
func maintainedBy(command string) string {
	return `# This file is maintained automatically by "` + command + `".`
}

// block returns the entry's block without a newline behind it.
func (l Lock) block() string { return string(l.appendBlock(nil)) }

func (l Lock) appendBlock(b []byte) []byte {
	if l.kept && l.source != nil {
		return append(b, l.source...)
	}
	b = append(appendQuoted(append(b, "provider "...), l.Addr.String()), " {\n"...)
	if l.Constraints.Empty() {
		b = appendArgument(b, "  version = ", l.Version.String())
	} else {
		b = appendArgument(b, "  version     = ", l.Version.String())
		b = appendArgument(b, "  constraints = ", l.Constraints.String())
	}
	if len(l.Hashes) > 0 {
		b = append(b, "  hashes = [\n"...)
		for _, h := range l.Hashes {
			b = append(appendQuoted(append(b, hashIndent...), string(h)), ",\n"...)
		}
		b = append(b, "  ]\n"...)
	}
	return append(b, '}')
}

// hashIndent is before each hash.
const hashIndent = "    "

func appendArgument(b []byte, name, value string) []byte {
	return append(appendQuoted(append(b, name...), value), '\n')
}

// appendQuoted appends an HCL string literal. Only hashes of unknown schemes and
// hosts with other letters than ASCII's can hold anything that needs a library.
func appendQuoted(b []byte, s string) []byte {
	if !plainASCII(s) {
		return append(b, hclwrite.TokensForValue(cty.StringVal(s)).Bytes()...)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// plainASCII reports whether a text means itself between quotation marks: it is
// printable ASCII, and begins neither an escape nor a template.
func plainASCII[T string | []byte](s T) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '$' || c == '%' {
			return false
		}
	}
	return true
}
