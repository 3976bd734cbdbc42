package evidence_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/evidence"
)

var stored = time.Date(2026, 11, 30, 8, 0, 0, 123456000, time.UTC)

func head(stream string, sequence uint64) evidence.Head {
	return evidence.Head{Stream: stream, Sequence: sequence, SHA256: fmt.Sprintf("%064x", sequence), Stored: stored}
}

func open(t *testing.T, dir string) *evidence.Store {
	t.Helper()
	s, err := evidence.Open(dir)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestWhatIsKeptIsKnownLater(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "evidence")
	s := open(t, dir)
	_, known := s.Known("IRIS_ACME")
	require.False(t, known)
	require.NoError(t, s.Keep(head("IRIS_ACME", 7), head("IRIS_BOREALIS", 1<<60)))
	require.NoError(t, s.Keep(head("IRIS_ACME", 9)))
	require.NoError(t, s.Keep(head("IRIS_ACME", 9)), "the same again is no news")
	s.Close()

	s = open(t, dir)
	for stream, sequence := range map[string]uint64{"IRIS_ACME": 9, "IRIS_BOREALIS": 1 << 60} {
		got, known := s.Known(stream)
		require.True(t, known)
		require.Equal(t, head(stream, sequence), got)
	}
	for _, file := range []string{"heads.json", "lock"} {
		info, err := os.Stat(filepath.Join(dir, file))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
	}
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestAContradictionIsRefusedWhole(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	require.NoError(t, s.Keep(head("IRIS_ACME", 9)))
	other := head("IRIS_ACME", 9)
	other.SHA256 = strings.Repeat("a", 64)
	for name, bad := range map[string]evidence.Head{
		"back": head("IRIS_ACME", 8), "another body": other, "no stream": head("", 10), "no sequence": head("IRIS_ACME", 0),
		"no hash": {Stream: "IRIS_ACME", Sequence: 10, Stored: stored}, "no time": {Stream: "IRIS_ACME", Sequence: 10, SHA256: other.SHA256},
	} {
		require.ErrorIs(t, s.Keep(head("IRIS_BOREALIS", 1), bad), evidence.ErrContradiction, name)
	}
	_, known := s.Known("IRIS_BOREALIS")
	require.False(t, known)
	got, _ := s.Known("IRIS_ACME")
	require.Equal(t, head("IRIS_ACME", 9), got)
}

func TestOneProcessWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	_, err := evidence.Open(dir)
	require.ErrorIs(t, err, evidence.ErrHeld)
	s.Close()
	open(t, dir)
}

// An interrupted write leaves the file of before; what can't be read is never taken for nothing.
func TestWhatCantBeReadIsNoBeginning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	require.NoError(t, s.Keep(head("IRIS_ACME", 9)))
	s.Close()
	path := filepath.Join(dir, "heads.json")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".new", whole[:20], 0o600))
	s = open(t, dir)
	_, known := s.Known("IRIS_ACME")
	require.True(t, known)
	require.NoError(t, s.Keep(head("IRIS_ACME", 10)))
	s.Close()

	for name, content := range map[string]string{
		"empty": "", "half": string(whole[:len(whole)/2]), "zeros": strings.Repeat("\x00", 100), "a later version": `{"version":2,"heads":[]}`,
		"twice": `{"version":1,"heads":[` + one + `,` + one + `]}`, "two of them": string(whole) + string(whole), "a field more": `{"version":1,"heads":[],"x":1}`, "not whole": `{"version":1,"heads":[{"stream":"A"}]}`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := evidence.Open(dir)
		require.ErrorIs(t, err, evidence.ErrUnreadable, name)
	}
}

const one = `{"stream":"A","sequence":"1","sha256":"0000000000000000000000000000000000000000000000000000000000000001","stored":"2026-11-30T08:00:00Z"}`

func TestWhatCantBeWrittenIsNotKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "heads.json.new"), 0o700)) // where the new file would stand
	require.ErrorIs(t, s.Keep(head("IRIS_ACME", 9)), evidence.ErrWrite)
	_, known := s.Known("IRIS_ACME")
	require.False(t, known)
	require.NoError(t, os.Remove(filepath.Join(dir, "heads.json.new")))
	require.NoError(t, s.Keep(head("IRIS_ACME", 9)))
}

// Whatever order many keep in, what is known is the furthest, and a reopened store knows the same.
func TestKnownHeadsOnlyAdvance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(r, err)
		s, err := evidence.Open(dir)
		require.NoError(r, err)
		model := map[string]uint64{}
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			stream := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(r, "stream")
			sequence := rapid.Uint64Range(1, 12).Draw(r, "sequence")
			err := s.Keep(head(stream, sequence))
			if sequence < model[stream] {
				require.ErrorIs(r, err, evidence.ErrContradiction)
				continue
			}
			require.NoError(r, err)
			model[stream] = sequence
		}
		s.Close()
		s, err = evidence.Open(dir)
		require.NoError(r, err)
		defer s.Close()
		for stream, sequence := range model {
			got, known := s.Known(stream)
			require.True(r, known)
			require.Equal(r, head(stream, sequence), got)
		}
	})
}

func TestManyKeepAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range uint64(10) {
				if err := s.Keep(head(fmt.Sprint("S", i), n+1)); err != nil {
					t.Errorf("keep: %v", err)
				}
			}
		})
	}
	group.Wait()
	for i := range 8 {
		got, _ := s.Known(fmt.Sprint("S", i))
		require.EqualValues(t, 10, got.Sequence)
	}
}

func FuzzHeads(f *testing.F) {
	f.Add([]byte(`{"version":1,"heads":[` + one + `]}`))
	f.Add([]byte(`{"version":1,"heads":[{"stream":"A","sequence":"-1"}]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "heads.json"), content, 0o600))
		s, err := evidence.Open(dir)
		if err != nil {
			require.ErrorIs(t, err, evidence.ErrUnreadable)
			return
		}
		defer s.Close()
		if known, ok := s.Known("A"); ok {
			require.NoError(t, s.Keep(known), "what was read can be written")
		}
	})
}
