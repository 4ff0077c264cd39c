package module

import (
	"os/exec"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"
)

// startGroup starts a program in a job. The whole job is killed when the program's context
// ends, or relock itself, since git leaves its children behind. The program joins the job
// after it has started, so a child from its first moment may escape. If it cannot join,
// only the program is killed. release releases the job after the program has ended.
func startGroup(cmd *exec.Cmd) (release func(), err error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return func() {}, cmd.Start()
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE // when its last handle is closed
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		windows.CloseHandle(job)
		return func() {}, cmd.Start()
	}
	release = func() { windows.CloseHandle(job) }
	var joined atomic.Bool
	cmd.Cancel = func() error {
		if joined.Load() {
			return windows.TerminateJobObject(job, 1)
		}
		return cmd.Process.Kill()
	}
	if err := cmd.Start(); err != nil {
		release()
		return nil, err
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err == nil {
		joined.Store(windows.AssignProcessToJobObject(job, process) == nil)
		windows.CloseHandle(process)
	}
	return release, nil
}
