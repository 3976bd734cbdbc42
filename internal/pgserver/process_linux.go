package pgserver

import (
	"os/exec"
	"syscall"
)

// tie makes the kernel send sig to the child when the thread that starts it is
// gone. Go ends threads only when a locked goroutine returns, so the caller is
// locked and waits for the child (see startTied).
func tie(cmd *exec.Cmd, sig syscall.Signal) { cmd.SysProcAttr.Pdeathsig = sig }
