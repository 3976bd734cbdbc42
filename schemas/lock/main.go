// Command lock adds new schema files and examples to schemas/lock.json. It never changes a hash that stands there: a published
// schema that must change is another version (spec 9.3). Run it at the root of the repository: go run ./schemas/lock
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"iris.example/iris/schemas"
)

func main() {
	if err := run("schemas"); err != nil {
		fmt.Fprintln(os.Stderr, "lock:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	lock, err := schemas.ReadLock(os.DirFS(dir))
	if errors.Is(err, fs.ErrNotExist) {
		lock, err = schemas.Lock{}, nil
	}
	if err != nil {
		return err
	}
	now, err := schemas.Locked(os.DirFS(dir))
	if err != nil {
		return err
	}
	if broken := lock.Broken(now); len(broken) > 0 {
		return fmt.Errorf("published files changed or disappeared; put them back and write another version:\n  %s", strings.Join(broken, "\n  "))
	}
	missing := lock.Missing(now)
	for _, name := range missing {
		lock[name] = now[name]
		fmt.Println("locked", name)
	}
	if len(missing) == 0 {
		return nil
	}
	data, err := lock.MarshalIndent()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, schemas.LockFile), data, 0o644)
}
