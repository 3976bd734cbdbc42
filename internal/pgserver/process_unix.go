//go:build unix

package pgserver

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// owner is who runs the server. PostgreSQL refuses to run as root, so root
// hands over; everybody else runs it as themselves.
type owner struct {
	name     string
	uid, gid int
	handOver bool
}

// ownerOf keeps an existing data directory with its owner, so that the same
// data can be run with and without root.
func ownerOf(c Config) (owner, error) {
	if os.Geteuid() != 0 {
		return owner{name: "uid " + strconv.Itoa(os.Geteuid()), uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	if info, err := os.Stat(c.DataDir); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return owner{name: "uid " + strconv.Itoa(int(st.Uid)), uid: int(st.Uid), gid: int(st.Gid), handOver: true}, nil
		}
	}
	u, err := user.Lookup(c.RunAs)
	if err != nil {
		return owner{}, &Error{Code: ErrNoUser, Act: "run PostgreSQL as", Input: c.RunAs,
			Hint: "PostgreSQL refuses to run as root: add that user, or run this command as an ordinary user", Cause: err}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return owner{}, &Error{Code: ErrNoUser, Act: "run PostgreSQL as", Input: c.RunAs, Cause: err}
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return owner{}, &Error{Code: ErrNoUser, Act: "run PostgreSQL as", Input: c.RunAs, Cause: err}
	}
	return owner{name: c.RunAs, uid: uid, gid: gid, handOver: true}, nil
}

func (o owner) own(path string) error {
	if !o.handOver {
		return nil
	}
	return os.Chown(path, o.uid, o.gid)
}

// checkWay finds the directory on the way to path that the server's user can't
// enter. PostgreSQL itself would only say "permission denied".
func (o owner) checkWay(path string) error {
	if !o.handOver {
		return nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return &Error{Code: ErrUnreachable, Act: "read", Input: dir, Cause: err}
		}
		if !o.canEnter(info) {
			return &Error{Code: ErrUnreachable, Act: "enter", Input: dir, Hint: fmt.Sprintf(
				"PostgreSQL runs as %s, which may not pass this directory (mode %04o): chmod o+x it, choose another data directory, or run this command as an ordinary user",
				o.name, info.Mode().Perm())}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (o owner) canEnter(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	switch mode := info.Mode().Perm(); {
	case int(st.Uid) == o.uid:
		return mode&0o100 != 0
	case int(st.Gid) == o.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// command never inherits our environment: a PGDATA or PGOPTIONS of the caller
// must not reach the private server.
func command(path string, args []string, dir string, who owner, out io.Writer) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir // ours may be closed to the server's user
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.Stdout, cmd.Stderr = out, out
	// Its own group: Ctrl-C in a terminal reaches us, and we stop it in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if who.handOver {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(who.uid), Gid: uint32(who.gid)}
	}
	return cmd
}

const (
	stopFast      = syscall.SIGINT  // disconnects clients, writes a checkpoint
	stopImmediate = syscall.SIGQUIT // recovers at the next start
)
