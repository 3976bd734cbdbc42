package form_test

import (
	"io"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/runner/form"
)

type word string

type leaf struct {
	Word  word
	Small int8
	Wide  int64
	Count uint64
	Flag  bool
	At    time.Time
	Until *time.Time
	Words []string
	Left  string `snapshot:"-"`
}

type tree struct {
	Leaf   leaf
	Leaves map[word]*leaf
	By     map[struct{ A, B string }][]word
	Root   *tree
	Plain  []leaf
}

var texts = rapid.StringOf(rapid.Rune())

func leaves(t *rapid.T) leaf {
	at := rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMicro(rapid.Int64Range(-1<<50, 1<<52).Draw(t, "instant")).UTC()
	})
	l := leaf{
		Word: word(texts.Draw(t, "word")), Small: rapid.Int8().Draw(t, "small"), Wide: rapid.Int64().Draw(t, "wide"),
		Count: rapid.Uint64().Draw(t, "count"), Flag: rapid.Bool().Draw(t, "flag"), Until: rapid.Ptr(at, true).Draw(t, "until"),
	}
	if rapid.Bool().Draw(t, "at some time") {
		l.At = at.Draw(t, "at")
	}
	if rapid.Bool().Draw(t, "words") {
		l.Words = rapid.SliceOfN(texts, 0, 3).Draw(t, "them")
	}
	return l
}

func trees(t *rapid.T) tree {
	leaf := rapid.Custom(leaves)
	grown := tree{Leaf: leaf.Draw(t, "leaf")}
	if rapid.Bool().Draw(t, "leaves") {
		grown.Leaves = rapid.MapOfN(rapid.Map(texts, func(s string) word { return word(s) }), rapid.Ptr(leaf, true), 0, 3).Draw(t, "them")
	}
	if rapid.Bool().Draw(t, "by") {
		grown.By = map[struct{ A, B string }][]word{{"a", texts.Draw(t, "b")}: nil, {"b", "c"}: {}}
	}
	if rapid.Bool().Draw(t, "plain") {
		grown.Plain = rapid.SliceOfN(leaf, 0, 2).Draw(t, "they")
	}
	if rapid.IntRange(0, 2).Draw(t, "deeper") == 0 {
		root := trees(t)
		grown.Root = &root
	}
	return grown
}

// What was written is read back as it was: nil and empty, every number, every instant.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	f, err := form.Of[tree]()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		grown := trees(t)
		b, err := f.Write([]byte{}, &grown)
		require.NoError(t, err)
		back, err := f.Read(b)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(grown, *back))
		_, err = f.Read(append(b, 0))
		require.ErrorIs(t, err, form.ErrUnreadable, "something follows")
		_, err = f.Read(b[:len(b)-1])
		require.ErrorIs(t, err, form.ErrUnreadable, "something is missing")
	})
}

func TestWhatIsLeftOutIsNotThere(t *testing.T) {
	t.Parallel()
	f, err := form.Of[leaf]()
	require.NoError(t, err)
	b, err := f.Write(nil, &leaf{Word: "kept", Left: "left out"})
	require.NoError(t, err)
	require.NotContains(t, string(b), "left out")
	back, err := f.Read(b)
	require.NoError(t, err)
	require.Equal(t, &leaf{Word: "kept"}, back)
}

func TestAnotherTypeHasAnotherDigest(t *testing.T) {
	t.Parallel()
	digests := map[string]bool{}
	for _, of := range []func() (string, error){
		digest[struct{ A string }], digest[struct{ B string }], digest[struct{ A word }], digest[struct{ A []string }], digest[struct{ A *string }],
		digest[struct {
			A string `json:"a"`
		}], digest[struct {
			A string `snapshot:"-"`
		}], digest[struct{ A map[string]int }], digest[struct{ A map[string]int64 }], digest[tree], digest[leaf],
	} {
		d, err := of()
		require.NoError(t, err)
		require.NotContains(t, digests, d)
		digests[d] = true
		again, err := of()
		require.NoError(t, err)
		require.Equal(t, d, again)
	}
}

func digest[T any]() (string, error) {
	f, err := form.Of[T]()
	if err != nil {
		return "", err
	}
	return f.Digest(), nil
}

func TestWhatCannotBeWrittenIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func() (string, error){
		"an interface": digest[struct{ A any }], "a function": digest[struct{ A func() }], "a channel": digest[struct{ A chan int }],
		"what is not exported": digest[struct{ a string }], "floating point": digest[struct{ A float64 }], "deep inside": digest[map[string][]*io.Reader],
		"an array": digest[[2]string],
	} {
		_, err := of()
		require.ErrorIs(t, err, form.ErrType, name)
	}
}

// An instant that would not come back as it is isn't written.
func TestInstantsAreCut(t *testing.T) {
	t.Parallel()
	f, err := form.Of[leaf]()
	require.NoError(t, err)
	for _, at := range []time.Time{time.Unix(0, 1).UTC(), time.Unix(0, 0).In(time.FixedZone("", 3600))} {
		_, err := f.Write(nil, &leaf{At: at})
		require.ErrorIs(t, err, form.ErrInstant)
	}
}

func TestNumbersThatDoNotFitAreUnreadable(t *testing.T) {
	t.Parallel()
	wide, err := form.Of[int64]()
	require.NoError(t, err)
	small, err := form.Of[int8]()
	require.NoError(t, err)
	for _, n := range []int64{math.MinInt64, math.MinInt8 - 1, math.MaxInt8 + 1, math.MaxInt64} {
		b, err := wide.Write(nil, &n)
		require.NoError(t, err)
		_, err = small.Read(b)
		require.ErrorIs(t, err, form.ErrUnreadable)
	}
}

func FuzzRead(f *testing.F) {
	trees, err := form.Of[tree]()
	require.NoError(f, err)
	b, err := trees.Write(nil, &tree{Leaves: map[word]*leaf{"a": {Words: []string{"b"}}, "c": nil}, Root: &tree{}})
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		read, err := trees.Read(b)
		if err != nil {
			require.ErrorIs(t, err, form.ErrUnreadable)
			return
		}
		written, err := trees.Write(nil, read)
		require.NoError(t, err)
		again, err := trees.Read(written)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(read, again))
	})
}
