package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// minMajor: views need security_invoker (15).
const minMajor = 15

const choices = "install PostgreSQL 15 or newer (Debian, Ubuntu: apt install postgresql; macOS: brew install postgresql), " +
	"or point IRIS_POSTGRES_URL at a server, or IRIS_POSTGRES_BIN at a folder with postgres and initdb, " +
	"or start the PostgreSQL of docker-compose.yml"

// binaries is a folder with postgres and initdb of one major version.
type binaries struct {
	dir   string
	major int
}

func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }
func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }

// findBinaries picks the folder to run from. A folder named by hand is taken or
// refused. Otherwise the first in search order is taken, and when the data
// directory exists already (dataMajor > 0) the first that fits it.
func findBinaries(named string, dataMajor int) (binaries, error) {
	if named != "" {
		return namedBinaries(named)
	}
	var seen []binaries
	for _, dir := range searchDirs() {
		b, err := inspect(dir)
		if err != nil || b.major < minMajor {
			continue
		}
		if dataMajor == 0 || b.major == dataMajor {
			return b, nil
		}
		seen = append(seen, b)
	}
	if len(seen) > 0 {
		return seen[0], nil // the version check explains what is wrong
	}
	return binaries{}, &Error{Code: ErrNoBinaries, Act: "find", Input: "postgres and initdb on this machine", Hint: choices}
}

func namedBinaries(dir string) (binaries, error) {
	b, err := inspect(dir)
	if err == nil && b.major < minMajor {
		err = fmt.Errorf("version %d is too old, %d is needed", b.major, minMajor)
	}
	if err != nil {
		return binaries{}, &Error{Code: ErrNoBinaries, Act: "use binaries in", Input: dir, Hint: choices, Cause: err}
	}
	return b, nil
}

// searchDirs lists candidate folders, best first; they may not exist.
func searchDirs() []string {
	var dirs []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		// A link in PATH alone has no initdb beside it.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		dirs = append(dirs, newestFirst(pattern)...)
	}
	return dirs
}

var digits = regexp.MustCompile(`\d+`)

// newestFirst sorts by the last number in the path, so that 9 comes after 16.
func newestFirst(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	number := func(path string) int {
		all := append([]string{"0"}, digits.FindAllString(path, -1)...)
		n, _ := strconv.Atoi(all[len(all)-1])
		return n
	}
	sort.SliceStable(found, func(i, j int) bool { return number(found[i]) > number(found[j]) })
	return found
}

var versionLine = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// inspect asks the binary itself: a folder's name proves nothing.
func inspect(dir string) (binaries, error) {
	b := binaries{dir: dir}
	if _, err := os.Stat(b.initdb()); err != nil {
		return b, err
	}
	out, err := exec.Command(b.postgres(), "--version").Output()
	if err != nil {
		return b, fmt.Errorf("run postgres --version: %w", err)
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return b, errors.New("postgres --version answered something else")
	}
	b.major, err = strconv.Atoi(string(m[1]))
	return b, err
}
