package command

import (
	"os"

	"golang.org/x/sys/windows"
)

// speaksANSI reports whether a console understands escape sequences. It switches them on,
// which old consoles refuse
// [learn.microsoft.com/windows/console/console-virtual-terminal-sequences].
func speaksANSI(out *os.File) bool {
	console := windows.Handle(out.Fd())
	var mode uint32
	return windows.GetConsoleMode(console, &mode) == nil &&
		windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
