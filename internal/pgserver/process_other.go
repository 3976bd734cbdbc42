//go:build unix && !linux

package pgserver

import (
	"os/exec"
	"syscall"
)

// tie does nothing: there is no parent death signal here. After our own SIGKILL
// the server keeps running until `pg_ctl stop`, and a new start says so.
func tie(*exec.Cmd, syscall.Signal) {}
