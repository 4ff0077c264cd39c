//go:build unix

package module

import (
	"os"
	"os/exec"
	"syscall"
)

// guarded runs a program in a shell, next to a second shell that kills their group when
// relock has ended. The second shell reads from a pipe that only relock could write to, and
// relock never does. The program is a child of the shell, so that the shell waits for it:
// in a container, relock would have to wait for orphans.
const guarded = `
{ read -r word <&3 || kill -9 0; } </dev/null >/dev/null 2>&1 &
guard=$!
"$0" "$@" 3<&-
status=$?
{ kill -9 $guard; wait $guard; } >/dev/null 2>&1
exit $status`

// startGroup starts a program in a process group. The whole group is killed when the
// program's context ends, or relock itself, since git leaves its children behind. release
// releases the group after the program has ended. On a system without a shell the group can
// outlive relock. But git cannot ask over ssh there either.
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
