//go:build unix

package module

import (
	"os"
	"os/exec"
	"syscall"
)

// guarded runs a program in a shell, beside another shell that ends all of their group
// when relock is gone: it waits for a word that relock never says, from a pipe that
// nobody else can write to. The program is the shell's child, so that both are waited
// for: in a container, relock is who would have to for those that have lost their parent.
const guarded = `
{ read -r word <&3 || kill -9 0; } </dev/null >/dev/null 2>&1 &
guard=$!
"$0" "$@" 3<&-
status=$?
{ kill -9 $guard; wait $guard; } >/dev/null 2>&1
exit $status`

// startGroup starts a program in a process group, which is killed as a whole
// when the program's context ends, or relock itself: git leaves what it started behind.
// The group is released when the program has ended. A system without a shell, which
// has no git either that could ask over ssh, lets it outlive relock.
func startGroup(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	shell, err := exec.LookPath("sh")
	if err != nil || cmd.Err != nil {
		return func() {}, cmd.Start()
	}
	held, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer held.Close()
	cmd.Args = append([]string{"sh", "-c", guarded, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = shell, []*os.File{held}
	if err := cmd.Start(); err != nil {
		hold.Close()
		return nil, err
	}
	return func() { hold.Close() }, nil
}
