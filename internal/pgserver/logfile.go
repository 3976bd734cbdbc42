package pgserver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// serverLog is PostgreSQL's own output, in the data directory. One start has
// one file; the one before it is kept.
type serverLog struct {
	file *os.File
	path string
}

func openLog(dataDir string, who owner) (*serverLog, error) {
	path := filepath.Join(dataDir, "iris.server.log")
	if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Code: ErrStart, Act: "keep the old log", Input: path, Cause: err}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err == nil {
		err = who.own(path)
	}
	if err != nil {
		return nil, &Error{Code: ErrStart, Act: "open the log", Input: path, Cause: err}
	}
	return &serverLog{file: f, path: path}, nil
}

// mark is the end of the log now; since reads from there.
func (l *serverLog) mark() int64 {
	info, err := l.file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

const tailBytes = 8 << 10

func (l *serverLog) since(mark int64) string {
	end := l.mark()
	buf := make([]byte, min(end-mark, tailBytes))
	n, _ := l.file.ReadAt(buf, end-int64(len(buf)))
	return string(buf[:n])
}

// predecessorAlive tells a start that failed because the server before it is
// still on its way out from one that will fail again.
func predecessorAlive(tail string) bool {
	for _, sign := range []string{
		"pre-existing shared memory block",
		`lock file "postmaster.pid"`,
		"is still in use",
	} {
		if strings.Contains(tail, sign) {
			return true
		}
	}
	return false
}

// complaint is what the server said last about why it ends. With terse errors
// these lines hold no row values.
func complaint(tail string) string {
	var said []string
	for _, line := range strings.Split(tail, "\n") {
		if strings.Contains(line, "FATAL:") || strings.Contains(line, "PANIC:") || strings.Contains(line, "HINT:") {
			said = append(said, line)
		}
	}
	return lastLines(strings.Join(said, "\n"), 3)
}
