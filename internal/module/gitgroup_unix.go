//go:build unix

package module

import (
	"os/exec"
	"syscall"
)

// startGroup starts a program in a process group, which is killed as a whole
// when the program's context ends: git leaves what it started behind. The group
// is released when the program has ended.
func startGroup(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return func() {}, cmd.Start()
}
