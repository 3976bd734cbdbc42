// Package evidence keeps what must be known outside the broker and outside the vault, so that their loss or change shows
// (spec 9.2, 9.4): the known heads of streams. The erasure ledger, the leaves of the verifiable log and its checkpoints will stand
// beside them, each in a file of its own.
//
// It guarantees: what Keep returned from is on the disk; a known head never goes back and never changes; one process writes. A
// file that can't be read is an error and never an empty beginning. The folder belongs in no backup set of the vault: an old
// vault restored with old evidence would bring back what was erased.
//
// Known not to work: whoever can write the folder can make it say anything. It is the second witness, not a signed one.
package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"iris.example/iris/internal/dirlock"
)

var (
	// ErrUnreadable: a file is there and says nothing that makes sense. Restore it; don't delete it.
	ErrUnreadable = errors.New("evidence: unreadable")
	// ErrContradiction: a head to keep lies before the known one, or is another one at its sequence.
	ErrContradiction = errors.New("evidence: contradicts what is known")
	// ErrHeld: another process writes here.
	ErrHeld = errors.New("evidence: held by another process")
	// ErrWrite: nothing was kept.
	ErrWrite = errors.New("evidence: not written")
)

// Head is the last message of a stream that somebody has seen: what stands there for ever.
type Head struct {
	Stream   string    `json:"stream"`
	Sequence uint64    `json:"sequence,string"`
	SHA256   string    `json:"sha256"` // of the stored body, hex
	Stored   time.Time `json:"stored"` // when the broker stored it
}

// Store is the evidence of one installation.
type Store struct {
	dir  string
	lock *dirlock.Lock

	mu    sync.Mutex      // guards heads and the order of writes
	heads map[string]Head // by stream, as on the disk
}

const (
	headsFile     = "heads.json"
	formatVersion = 1
)

// file is how heads stand on the disk.
type file struct {
	Version int    `json:"version"`
	Heads   []Head `json:"heads"`
}

// Open makes the folder if needed, takes it for this process and reads what is known.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the evidence folder %s: %w: %w", dir, ErrWrite, err)
	}
	lock, err := dirlock.Take(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("take the evidence folder %s: %w: %w", dir, ErrHeld, err)
	}
	s := &Store{dir: dir, lock: lock}
	if s.heads, err = readHeads(filepath.Join(dir, headsFile)); err != nil {
		lock.Release()
		return nil, err
	}
	return s, nil
}

func readHeads(path string) (map[string]Head, error) {
	heads := map[string]Head{}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return heads, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", path, ErrUnreadable, err)
	}
	f, err := decode(content)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", path, ErrUnreadable, err)
	}
	for _, h := range f.Heads {
		heads[h.Stream] = h
	}
	return heads, nil
}

func decode(content []byte) (file, error) {
	var f file
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return file{}, err
	}
	if decoder.More() {
		return file{}, errors.New("something follows the end")
	}
	if f.Version != formatVersion {
		return file{}, fmt.Errorf("version %d, this program reads %d", f.Version, formatVersion)
	}
	seen := map[string]bool{}
	for _, h := range f.Heads {
		if err := h.check(); err != nil {
			return file{}, err
		}
		if seen[h.Stream] {
			return file{}, fmt.Errorf("stream %s stands twice", h.Stream)
		}
		seen[h.Stream] = true
	}
	return f, nil
}

func (h Head) check() error {
	const hexSHA256 = 64
	if h.Stream == "" || h.Sequence == 0 || len(h.SHA256) != hexSHA256 || h.Stored.IsZero() {
		return fmt.Errorf("a head of stream %q is not whole", h.Stream)
	}
	return nil
}

// Known is the head that is known of a stream.
func (s *Store) Known(stream string) (Head, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.heads[stream]
	return h, ok
}

// Keep writes the heads that are news, all or none. A head that contradicts what is known refuses them all.
func (s *Store) Keep(heads ...Head) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.advance(heads)
	if err != nil {
		return err
	}
	if maps.Equal(next, s.heads) {
		return nil
	}
	if err := s.write(next); err != nil {
		return fmt.Errorf("keep the heads of %d streams: %w: %w", len(next), ErrWrite, err)
	}
	s.heads = next
	return nil
}

func (s *Store) advance(heads []Head) (map[string]Head, error) {
	next := maps.Clone(s.heads)
	for _, h := range heads {
		if err := h.check(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrContradiction, err)
		}
		known := next[h.Stream]
		if h.Sequence < known.Sequence || h.Sequence == known.Sequence && h.SHA256 != known.SHA256 {
			return nil, fmt.Errorf("%w: stream %s at %d, known is %d", ErrContradiction, h.Stream, h.Sequence, known.Sequence)
		}
		if h.Sequence > known.Sequence {
			h.Stored = h.Stored.UTC()
			next[h.Stream] = h
		}
	}
	return next, nil
}

// write replaces the file whole, and is back when the disk has it.
func (s *Store) write(heads map[string]Head) error {
	f := file{Version: formatVersion}
	for _, stream := range slices.Sorted(maps.Keys(heads)) {
		f.Heads = append(f.Heads, heads[stream])
	}
	content, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir, headsFile)
	if err := writeSynced(path+".new", append(content, '\n')); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncFolder(s.dir)
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close lets another process write.
func (s *Store) Close() { s.lock.Release() }
