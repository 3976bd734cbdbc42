package growth

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"iris.example/iris/schemas"
)

// Folder holds the released forms, under the names that they have one folder up.
const Folder = "released"

// ErrBroken is in the chain when a contract is not what it was, or can't stand in for it.
var ErrBroken = errors.New("contract_broken")

// contract is a sort of file that may grow, and who must not notice.
type contract struct {
	names string // of path.Match
	as    []Direction
}

// contracts are all files that may grow. What else is published is locked by its hash. The envelope is both: commits of then
// must be read now, and readers of then must read the commits of now.
func contracts() []contract {
	return []contract{
		{"vocabulary.schema.json", []Direction{Input}},
		{"claims/*.schema.json", []Direction{Input}},
		{"api/*.schema.json", []Direction{Input}},
		{"policy/*.schema.json", []Direction{Input}},
		{"outcomes/*.schema.json", []Direction{Events}},
		{"receipts/*.schema.json", []Direction{Events}},
		{"events/envelope.schema.json", []Direction{Input, Events}},
		{"events/definitions*.schema.json", []Direction{Input, Events}}, // locked as well; the others refer to it
		{"openapi.json", []Direction{Document}},
		{"asyncapi.json", []Direction{Document}},
	}
}

// heldAs are the directions in which a file is held; none: it isn't one that may grow.
func heldAs(name string) []Direction {
	for _, c := range contracts() {
		if ok, _ := path.Match(c.names, name); ok {
			return c.as
		}
	}
	return nil
}

// Breach is a finding in a contract, and who notices.
type Breach struct {
	File string
	As   Direction
	Finding
}

func (b Breach) String() string { return fmt.Sprintf("%s (%s): %s", b.File, b.As, b.Finding) }

// Broken reports breaches as an error, each on a line of its own.
func Broken(breaches []Breach) error {
	if len(breaches) == 0 {
		return nil
	}
	lines := make([]string, len(breaches))
	for i, b := range breaches {
		lines[i] = b.String()
	}
	return fmt.Errorf("%w:\n  %s", ErrBroken, strings.Join(lines, "\n  "))
}

// Verify compares a schema folder with what it published: locked files by hash, the others with their released forms.
func Verify(dir fs.FS) ([]Breach, error) {
	breaches, err := verifyLock(dir)
	if err != nil {
		return nil, err
	}
	released, err := Released(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range released {
		more, err := verifyOne(dir, name)
		if err != nil {
			return nil, err
		}
		breaches = append(breaches, more...)
	}
	return breaches, nil
}

func verifyLock(dir fs.FS) (breaches []Breach, err error) {
	lock, err := schemas.ReadLock(dir)
	if err != nil {
		return nil, err
	}
	now, err := schemas.Locked(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range lock.Broken(now) {
		breaches = append(breaches, Breach{name, Events, Finding{name, "locked", "changed or disappeared; put it back and write another version"}})
	}
	return breaches, nil
}

func verifyOne(dir fs.FS, name string) (breaches []Breach, err error) {
	as := heldAs(name)
	if as == nil {
		return []Breach{{name, Document, Finding{name, "released", "was released and is none of the contracts that may grow"}}}, nil
	}
	if _, err := fs.Stat(dir, name); errors.Is(err, fs.ErrNotExist) {
		return []Breach{{name, as[0], Finding{name, codeRemoved, "was released and is gone"}}}, nil
	}
	before, err := fs.Sub(dir, Folder)
	if err != nil {
		return nil, err
	}
	for _, direction := range as {
		found, err := Compare(Version{in(before), name}, Version{in(dir), name}, direction)
		if err != nil {
			return nil, fmt.Errorf("compare %s with its released form: %w", name, err)
		}
		for _, f := range found {
			breaches = append(breaches, Breach{name, direction, f})
		}
	}
	return breaches, nil
}

func in(dir fs.FS) Open { return func(name string) ([]byte, error) { return fs.ReadFile(dir, name) } }

// Released lists what has a released form.
func Released(dir fs.FS) (names []string, err error) {
	sub, err := fs.Sub(dir, Folder)
	if err != nil {
		return nil, err
	}
	return files(sub, func(string) bool { return true })
}

// Growing lists the contracts that may grow.
func Growing(dir fs.FS) ([]string, error) {
	return files(dir, func(name string) bool { return heldAs(name) != nil })
}

func files(dir fs.FS, wanted func(string) bool) (names []string, err error) {
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if name == "." && errors.Is(err, fs.ErrNotExist) {
			return nil // nothing was released yet
		}
		if err == nil && !d.IsDir() && path.Ext(name) == ".json" && wanted(name) {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// Release takes up what grew since the last release, and what is new. It writes nothing when one contract is broken.
func Release(dir string) (written []string, err error) {
	here := os.DirFS(dir)
	breaches, err := Verify(here)
	if err != nil {
		return nil, err
	}
	if err := Broken(breaches); err != nil {
		return nil, err
	}
	growing, err := Growing(here)
	if err != nil {
		return nil, err
	}
	for _, name := range growing {
		now, err := fs.ReadFile(here, name)
		if err != nil {
			return written, err
		}
		before, err := fs.ReadFile(here, path.Join(Folder, name))
		if err == nil && bytes.Equal(before, now) {
			continue
		}
		if err := write(filepath.Join(dir, Folder, filepath.FromSlash(name)), now); err != nil {
			return written, err
		}
		written = append(written, name)
	}
	return written, nil
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// Unreleased lists the contracts that nobody is held to yet.
func Unreleased(dir fs.FS) ([]string, error) {
	growing, err := Growing(dir)
	if err != nil {
		return nil, err
	}
	released, err := Released(dir)
	return slices.DeleteFunc(growing, func(name string) bool { return slices.Contains(released, name) }), err
}
