package natsserver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nkeys"
)

// forever lies after every issue time.
var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// revocations is the set of user keys that may never come back.
type revocations struct {
	path string
	keys map[string]bool
}

// readRevocations refuses a missing file: an empty set would let everybody in again.
func readRevocations(path string) (*revocations, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, &Error{Code: ErrKeys, Act: "read", Input: path, Hint: "restore it from a backup", Cause: err}
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, &Error{Code: ErrKeys, Act: "read", Input: path, Hint: "restore it from a backup", Cause: err}
	}
	r := &revocations{path: path, keys: make(map[string]bool, len(list))}
	for _, key := range list {
		if !nkeys.IsValidPublicUserKey(key) {
			return nil, &Error{Code: ErrKeys, Act: "read a key of", Input: path, Hint: "restore it from a backup"}
		}
		r.keys[key] = true
	}
	return r, nil
}

func (r *revocations) save() error {
	list := make([]string, 0, len(r.keys))
	for key := range r.keys {
		list = append(list, key)
	}
	slices.Sort(list)
	raw, err := json.Marshal(list)
	if err == nil {
		err = writeSecret(r.path, raw)
	}
	if err != nil {
		return &Error{Code: ErrKeys, Act: "write", Input: r.path, Cause: err}
	}
	return nil
}

// writeSecret replaces path in one step with a file of mode 0600, on the disk
// before it returns.
func writeSecret(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".tmp-") // CreateTemp makes it 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing to remove
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
