package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// unfinished is in the name of a data directory that initdb still writes. No
// server ever runs on it under that name.
const unfinished = ".initdb-"

// dataMajor is the major version an existing data directory belongs to; 0 when
// there is none yet. A directory with other contents is refused.
func dataMajor(dir string) (int, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if err == nil {
		major, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(string(raw), ".", 2)[0]))
		if err != nil {
			return 0, &Error{Code: ErrForeignDir, Act: "read the version of", Input: dir, Cause: err}
		}
		return major, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, &Error{Code: ErrUnreachable, Act: "read", Input: dir,
			Hint: "run as the user that owns it", Cause: err}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, &Error{Code: ErrUnreachable, Act: "read", Input: dir, Cause: err}
	}
	if len(entries) > 0 {
		return 0, &Error{Code: ErrForeignDir, Act: "use", Input: dir,
			Hint: "it holds files but no PG_VERSION; nothing in it was touched: move it away or choose another directory"}
	}
	return 0, nil
}

func checkMajor(dir string, data int, b binaries) error {
	if data == 0 || data == b.major {
		return nil
	}
	return &Error{Code: ErrVersion, Act: "open", Input: dir, Hint: fmt.Sprintf(
		"the data was written by PostgreSQL %d and %s holds %d; nothing was touched: install %d, or set IRIS_POSTGRES_BIN to its folder, or run pg_upgrade",
		data, b.dir, b.major, data)}
}

// create makes the data directory in one visible step: initdb beside its place,
// then a rename, which fails when something stands there meanwhile.
func create(ctx context.Context, c Config, b binaries, who owner) error {
	var err error
	for _, locale := range []string{"C.UTF-8", "C"} {
		var tmp string
		if tmp, err = initdb(ctx, c, b, who, locale); err == nil {
			return install(tmp, c.DataDir)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return &Error{Code: ErrInit, Act: "create", Input: c.DataDir, Cause: err}
}

func initdb(ctx context.Context, c Config, b binaries, who owner, locale string) (string, error) {
	tmp, err := os.MkdirTemp(filepath.Dir(c.DataDir), filepath.Base(c.DataDir)+unfinished)
	if err != nil {
		return "", err
	}
	if err = who.own(tmp); err == nil {
		err = runInitdb(ctx, c, b, who, tmp, locale)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(tmp))
	}
	return tmp, nil
}

func runInitdb(ctx context.Context, c Config, b binaries, who owner, dir, locale string) error {
	args := []string{"-D", dir, "-U", c.Superuser, "--auth=trust", "--encoding=UTF8",
		"--locale=" + locale, "--lc-messages=C", "--data-checksums", "--no-instructions"}
	if c.UnsafeNoSync {
		args = append(args, "--no-sync")
	}
	var out bytes.Buffer
	if err := runTied(ctx, command(b.initdb(), args, dir, who, &out)); err != nil {
		return fmt.Errorf("initdb --locale=%s: %w: %s", locale, err, lastLines(out.String(), 3))
	}
	return nil
}

func install(tmp, dir string) error {
	// Not os.Rename, which refuses an empty directory. The kernel refuses a full one.
	if err := syscall.Rename(tmp, dir); err != nil {
		return &Error{Code: ErrInit, Act: "rename " + tmp + " to", Input: dir,
			Hint: "a data directory can't be a mount point itself: choose a folder in it", Cause: err}
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return &Error{Code: ErrInit, Act: "sync the parent of", Input: dir, Cause: err}
	}
	defer parent.Close()
	if err := parent.Sync(); err != nil {
		return &Error{Code: ErrInit, Act: "sync the parent of", Input: dir, Cause: err}
	}
	return nil
}

// unfinishedDirs are what interrupted first starts left. They stay: an operator
// may remove them, we delete nothing that we did not just make.
func unfinishedDirs(dir string) []string {
	left, _ := filepath.Glob(globQuote(dir) + unfinished + "*")
	return left
}

func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
