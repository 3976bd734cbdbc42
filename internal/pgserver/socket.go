package pgserver

import (
	"os"
	"path/filepath"
)

const (
	socketPort = "5432" // only a part of the socket's name
	socketName = "/.s.PGSQL." + socketPort
	maxSocket  = 103 // sun_path holds 107 bytes on Linux, 103 on macOS
)

// socketPlace is the directory of the unix socket; temporary ones go at Stop.
type socketPlace struct {
	dir       string
	temporary bool
}

// placeSocket prefers a directory inside the data directory. A path too long
// for a socket gets a fresh directory with a short name instead.
func placeSocket(c Config, who owner) (socketPlace, error) {
	dir := filepath.Join(c.DataDir, "iris.socket")
	if len(dir)+len(socketName) <= maxSocket {
		if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
			return socketPlace{}, &Error{Code: ErrStart, Act: "make the socket directory", Input: dir, Cause: err}
		}
		return socketPlace{dir: dir}, ownSocketDir(dir, who)
	}
	for _, base := range []string{os.TempDir(), "/tmp"} {
		dir, err := os.MkdirTemp(base, "iris-pg-")
		if err != nil {
			continue
		}
		place := socketPlace{dir: dir, temporary: true}
		if len(dir)+len(socketName) > maxSocket || who.checkWay(dir) != nil {
			place.remove()
			continue
		}
		return place, ownSocketDir(dir, who)
	}
	return socketPlace{}, &Error{Code: ErrStart, Act: "place a unix socket for", Input: c.DataDir,
		Hint: "both this path and the temporary directory's are too long or closed: set TMPDIR to a short one"}
}

func ownSocketDir(dir string, who owner) error {
	if err := who.own(dir); err != nil {
		return &Error{Code: ErrStart, Act: "hand over", Input: dir, Cause: err}
	}
	// Nobody but the server's user may reach the socket, whatever the umask was.
	if err := os.Chmod(dir, 0o700); err != nil {
		return &Error{Code: ErrStart, Act: "close", Input: dir, Cause: err}
	}
	return nil
}

func (p socketPlace) remove() {
	if p.temporary {
		_ = os.RemoveAll(p.dir) // made by us, holds a socket at most
	}
}
