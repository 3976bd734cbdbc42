//go:build unix

package pgserver

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"
)

// child is a process tied to ours. exited is closed after err is set.
type child struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error
}

// startTied starts cmd on a thread of its own that lives as long as the child:
// Pdeathsig watches the thread, not the process.
func startTied(cmd *exec.Cmd, onOurDeath syscall.Signal) (*child, error) {
	tie(cmd, onOurDeath)
	c := &child{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.err = cmd.Wait()
		close(c.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// runTied runs cmd to its end, or kills it when ctx ends.
func runTied(ctx context.Context, cmd *exec.Cmd) error {
	c, err := startTied(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-c.exited:
		return c.err
	case <-ctx.Done():
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the whole group: initdb has children
		<-c.exited
		return ctx.Err()
	}
}
