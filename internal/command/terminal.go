package command

import (
	"os"

	"github.com/vbauerster/mpb/v8/cwriter"
)

// Terminal returns the form of a report on a file: whether it has colour, and its width in
// columns; 0: no limit, as in a pipe. NO_COLOR [no-color.org] wins over CLICOLOR_FORCE and
// CLICOLOR [bixense.com/clicolors], and these win over the kind of terminal.
func Terminal(out *os.File, getenv func(string) string) (color bool, width int) {
	fd := int(out.Fd())
	terminal := cwriter.IsTerminal(fd)
	if terminal {
		if columns, _, err := cwriter.GetSize(fd); err == nil {
			width = columns
		}
	}
	return colored(terminal && speaksANSI(out), getenv), width
}

// colored reports whether a report has colour, on a terminal or elsewhere.
func colored(terminal bool, getenv func(string) string) bool {
	set := func(name string) bool { return getenv(name) != "" && getenv(name) != "0" }
	switch {
	case getenv("NO_COLOR") != "":
		return false
	case set("CLICOLOR_FORCE"):
		return true
	case getenv("CLICOLOR") == "0", getenv("TERM") == "dumb":
		return false
	}
	return terminal
}
