package schemas

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// LockFile stands beside the schemas.
const LockFile = "lock.json"

// Lock holds what was published: path and SHA-256, hex, of the file's bytes.
type Lock map[string]string

// ReadLock reads the lock file of a schema directory.
func ReadLock(dir fs.FS) (Lock, error) {
	data, err := fs.ReadFile(dir, LockFile)
	if err != nil {
		return nil, fmt.Errorf("read the lock: %w", err)
	}
	lock := Lock{}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("read the lock: %w", err)
	}
	return lock, nil
}

// Locked hashes what the lock must hold: the schema of each event with the definitions that they share, and every valid
// example. The envelope, claims, requests and tools may grow, so their files are free; their examples hold them to what they
// accepted.
func Locked(dir fs.FS) (Lock, error) {
	lock := Lock{}
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !locked(name) {
			return err
		}
		data, err := fs.ReadFile(dir, name)
		sum := sha256.Sum256(data)
		lock[name] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("hash the schemas: %w", err)
	}
	return lock, nil
}

func locked(name string) bool {
	if path.Dir(name) == "events" {
		return path.Ext(name) == ".json" && name != "events/envelope"+suffix
	}
	example, _ := path.Match("examples/*/valid/*.json", name)
	request, _ := path.Match("examples/api/*/valid/*.json", name)
	arguments, _ := path.Match("examples/tools/*/valid/*.json", name)
	return example || request || arguments
}

// Broken lists what changed or disappeared since it was locked.
func (l Lock) Broken(now Lock) []string {
	var broken []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if now[name] != l[name] {
			broken = append(broken, name)
		}
	}
	return broken
}

// Missing lists what isn't locked yet.
func (l Lock) Missing(now Lock) []string {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, ok := l[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

// MarshalIndent writes the lock's bytes.
func (l Lock) MarshalIndent() ([]byte, error) {
	data, err := json.MarshalIndent(map[string]string(l), "", "  ")
	return append(data, '\n'), err
}
