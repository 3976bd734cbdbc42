//go:build unix

// Package dirlock lets one process at a time own a directory. The lock is the
// kernel's (flock): it ends with the process, however that dies. Both embedded
// servers need it, because two of one kind on the same files destroy them.
package dirlock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrHeld means another process, or another lock of this one, has the directory.
var ErrHeld = errors.New("another process holds the lock")

// Lock is held until Release.
type Lock struct{ file *os.File }

// Take makes the file at path if needed and locks it, or fails at once. The
// file stays behind: removing it would let two processes lock two files.
func Take(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrHeld
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return &Lock{file: f}, nil
}

// Release is safe on nil and may be called twice. It unlocks before it closes: a child that this process is starting meanwhile has a copy of
// the file until it runs its program, and the lock would last as long.
func (l *Lock) Release() {
	if l != nil {
		_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
		_ = l.file.Close()
	}
}
