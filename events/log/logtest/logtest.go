// Package logtest is what every log.Log must do, run on the in-memory one and on a real server alike: otherwise the fake that
// other rooms test with would drift from what they run on.
package logtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
)

// Backend is a log under test.
type Backend struct {
	Log log.Log
	// Others are more ways to the same log, as other processes have: on a cluster, to other nodes. Races use them all.
	Others []log.Log
	// Long is how many commits the longest aggregate has; 0: 10,000. It must be over what one request to a broker brings.
	Long int
}

// Run holds what open makes to all rules. They run at once, each with an organisation of its own.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	shared := open(t)
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(setup(t, shared))
		})
	}
}

// RunRestart is for a log whose broker can be stopped and started again on the same store: restart does so, and returns when
// the log can be used.
func RunRestart(t *testing.T, b Backend, restart func()) {
	followThroughRestart(setup(t, b), restart)
}

var rules = map[string]func(s *suite){
	"an append needs the expected sequence":           expectedSequence,
	"of many racers one wins each round":              race,
	"an identical retry is recorded once":             identicalRetry,
	"a fence holds its aggregate's head":              fence,
	"no commit gets between a head and its fence":     fenceRace,
	"fences of one head don't refuse each other":      fencesAtOnce,
	"what is appended together is all or nothing":     together,
	"of decisions over two aggregates one wins":       togetherRace,
	"a load returns its range":                        loadRange,
	"a load that can't end at its head fails":         loadShort,
	"a load to the head ends there":                   toHead,
	"a load to the head misses nothing written":       toHeadBesideAWriter,
	"a long aggregate loads in order":                 loadLong,
	"an aggregate without a commit has head 0":        headOfNothing,
	"the newest message is the one at the head":       newest,
	"interleaved aggregates keep apart":               interleaved,
	"organisations keep apart":                        isolation,
	"access envelopes need no expectation":            access,
	"a message is read by its sequence":               at,
	"what is stored can't be changed by its reader":   ownership,
	"a follower starts anywhere":                      followFrom,
	"a follower keeps up with a writer":               followWriter,
	"a follower waits":                                followWaits,
	"a follower forgets nothing when it is cancelled": followCancelled,
	"a follower ends when it is closed":               followClosed,
	"a follower refuses to wait beyond the end":       followBeyond,
	"a body has a limit":                              tooLarge,
	"bad ids are refused":                             badIDs,
	"a missing stream is never made":                  missingStream,
	"creating and opening again changes nothing":      again,
	"a lost request and a lost answer look alike":     faults,
	"what is done is over":                            cancelled,
	"any history reads as it was written":             anyHistory,
}

type suite struct {
	*testing.T
	Backend
	ctx context.Context
	org string
}

const limit = 5 * time.Minute // far beyond what anything here takes, thirty rules at once on a busy machine: a hang becomes a failure

func setup(t *testing.T, b Backend) *suite {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	s := &suite{t, b, ctx, newOrganisation()}
	require.NoError(t, b.Log.CreateOrganisation(ctx, s.org))
	return s
}

func newOrganisation() string { return "o-" + uuid.NewString() }

func newMember() events.Aggregate { return events.Member(events.ID(uuid.NewString())) }

func (s *suite) append(a events.Aggregate, expected uint64, body string) uint64 {
	s.Helper()
	sequence, err := s.Log.Append(s.ctx, s.org, a, expected, []byte(body))
	// On several nodes a leader that has just changed may answer a conflict to who is alone, or nothing: both are ambiguous, and
	// settled as every writer settles them (spec 9.2).
	for tries := 0; len(s.Others) > 0 && tries < 5 && (errors.Is(err, log.ErrConflict) || errors.Is(err, log.ErrAmbiguous)); tries++ {
		if sequence, err = s.landed(a, expected, body); sequence == 0 && err == nil {
			sequence, err = s.Log.Append(s.ctx, s.org, a, expected, []byte(body))
		}
	}
	require.NoError(s, err)
	return sequence
}

// landed finds what was appended after expected; 0: nothing stands there.
func (s *suite) landed(a events.Aggregate, expected uint64, body string) (uint64, error) {
	head, err := s.Log.Head(s.ctx, s.org, a)
	if err != nil || head <= expected {
		return 0, err
	}
	after, err := s.Log.Load(s.ctx, s.org, a, expected, head)
	if err != nil {
		return 0, err
	}
	require.Len(s, after, 1)
	require.Equal(s, body, string(after[0].Body))
	return after[0].Sequence, nil
}

// fill appends n commits to an aggregate that has none and returns their sequences.
func (s *suite) fill(a events.Aggregate, n int) []uint64 {
	s.Helper()
	var sequences []uint64
	last := uint64(0)
	for i := range n {
		last = s.append(a, last, fmt.Sprint(i))
		sequences = append(sequences, last)
	}
	return sequences
}

func (s *suite) head(a events.Aggregate) uint64 {
	s.Helper()
	head, err := s.Log.Head(s.ctx, s.org, a)
	require.NoError(s, err)
	return head
}

func (s *suite) follow(after uint64) *log.Follower {
	s.Helper()
	f, err := s.Log.Follow(s.ctx, events.StreamFor(s.org), after)
	require.NoError(s, err)
	s.Cleanup(f.Close)
	return f
}

// take reads n messages and checks that each batch keeps its promise.
func (s *suite) take(f *log.Follower, n, most int) []log.Message {
	s.Helper()
	var got []log.Message
	for len(got) < n {
		batch, err := f.Next(s.ctx, most)
		require.NoError(s, err)
		require.NotEmpty(s, batch)
		require.LessOrEqual(s, len(batch), most)
		got = append(got, batch...)
	}
	require.Len(s, got, n)
	return got
}

func (s *suite) contiguous(got []log.Message, from uint64) {
	s.Helper()
	for i, m := range got {
		require.Equal(s, from+uint64(i), m.Sequence)
	}
}

func sequences(messages []log.Message) []uint64 {
	var all []uint64
	for _, m := range messages {
		all = append(all, m.Sequence)
	}
	return all
}

func expectedSequence(s *suite) {
	member := newMember()
	first := s.append(member, 0, "a")
	for _, wrong := range []uint64{0, first + 1, 1 << 60} {
		_, err := s.Log.Append(s.ctx, s.org, member, wrong, []byte("b"))
		require.ErrorIs(s, err, log.ErrConflict, "expected %d", wrong)
	}
	second := s.append(member, first, "b")
	require.Greater(s, second, first)
	require.Equal(s, second, s.head(member))

	_, err := s.Log.Append(s.ctx, s.org, newMember(), second, []byte("c"))
	require.ErrorIs(s, err, log.ErrConflict, "an aggregate's head is its own")
}

func race(s *suite) {
	const racers, rounds = 24, 200
	member := newMember()
	ways := append([]log.Log{s.Log}, s.Others...)
	for round := range rounds {
		expected := s.head(member)
		var won atomic.Int32
		var group sync.WaitGroup
		for racer := range racers {
			group.Go(func() {
				_, err := ways[racer%len(ways)].Append(s.ctx, s.org, member, expected, fmt.Appendf(nil, "%d/%d", round, racer))
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, log.ErrConflict) {
					s.Errorf("racer %d: %v", racer, err)
				}
			})
		}
		group.Wait()
		require.EqualValues(s, 1, won.Load(), "round %d", round)
	}
	all, err := s.Log.Load(s.ctx, s.org, member, 0, s.head(member))
	require.NoError(s, err)
	require.Len(s, all, rounds)
}

// identicalRetry sends one commit again and again, at once and later. The codes differ between one node and three, and between a
// first try in flight and one that is stored; what they mean doesn't: read on from the expected sequence, and find it once.
func identicalRetry(s *suite) {
	const senders, rounds = 8, 50
	member := newMember()
	for round := range rounds {
		expected, body := s.head(member), fmt.Appendf(nil, "commit %d", round)
		var stored atomic.Uint64
		var group sync.WaitGroup
		for range senders {
			group.Go(func() {
				sequence, err := s.Log.Append(s.ctx, s.org, member, expected, body)
				switch {
				case err == nil && !stored.CompareAndSwap(0, sequence):
					s.Errorf("round %d: stored twice", round)
				case err != nil && !errors.Is(err, log.ErrConflict):
					s.Errorf("round %d: %v", round, err)
				}
			})
		}
		group.Wait()
		_, err := s.Log.Append(s.ctx, s.org, member, expected, body)
		require.ErrorIs(s, err, log.ErrConflict, "long after")
		found, err := s.Log.Load(s.ctx, s.org, member, expected, s.head(member))
		require.NoError(s, err)
		require.Equal(s, []uint64{stored.Load()}, sequences(found))
		require.Equal(s, body, found[0].Body)
	}
}

func fence(s *suite) {
	member, other := newMember(), newMember()
	first, err := s.Log.AppendFence(s.ctx, s.org, member, 0, []byte("f0"))
	require.NoError(s, err, "an aggregate without a commit has a head too")
	require.Zero(s, s.head(member), "a fence is no commit")
	head := s.append(member, 0, "a")
	require.Greater(s, head, first)
	s.append(other, 0, "x")
	for range 2 {
		at, err := s.Log.AppendFence(s.ctx, s.org, member, head, []byte("f1"))
		require.NoError(s, err)
		require.Greater(s, at, head)
		stored, err := s.Log.At(s.ctx, events.StreamFor(s.org), at)
		require.NoError(s, err)
		require.Equal(s, events.FenceSubject(s.org), stored.Subject)
		require.Equal(s, "f1", string(stored.Body))
		require.Equal(s, head, s.head(member))
	}
	next := s.append(member, head, "b")
	for _, wrong := range []uint64{0, first, head, next + 1} {
		_, err := s.Log.AppendFence(s.ctx, s.org, member, wrong, []byte("f2"))
		require.ErrorIs(s, err, log.ErrConflict, "head %d", wrong)
	}
	all, err := s.Log.Load(s.ctx, s.org, member, 0, next)
	require.NoError(s, err)
	require.Equal(s, []uint64{head, next}, sequences(all))
	s.contiguous(s.take(s.follow(0), int(next), 10), 1)

	_, err = s.Log.AppendFence(s.ctx, s.org, member, next, make([]byte, log.MaxFence+1))
	require.ErrorIs(s, err, log.ErrTooLarge)
	_, err = s.Log.AppendFence(s.ctx, s.org, member, next, nil)
	require.ErrorIs(s, err, log.ErrRefused)
}

// fenceRace: whoever reads a head and gets a fence through on it was right at that moment, however many write meanwhile.
func fenceRace(s *suite) {
	const writers, readers, commits = 2, 4, 60
	member := newMember()
	var mu sync.Mutex
	fences := map[uint64]uint64{} // sequence of a fence → the head that it was guarded by
	writing, stopWriting := context.WithCancel(s.ctx)
	var fencing, committing sync.WaitGroup
	for range writers {
		committing.Go(func() {
			for done := 0; done < commits; {
				_, err := s.Log.Append(s.ctx, s.org, member, s.head(member), []byte("c"))
				if err == nil {
					done++
				} else if !errors.Is(err, log.ErrConflict) {
					s.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	for range readers {
		fencing.Go(func() {
			for writing.Err() == nil {
				head := s.head(member)
				at, err := s.Log.AppendFence(s.ctx, s.org, member, head, []byte("f"))
				if err == nil {
					mu.Lock()
					fences[at] = head
					mu.Unlock()
				} else if !errors.Is(err, log.ErrConflict) {
					s.Errorf("fence: %v", err)
					return
				}
			}
		})
	}
	committing.Wait()
	stopWriting()
	fencing.Wait()
	all, err := s.Log.Load(s.ctx, s.org, member, 0, s.head(member))
	require.NoError(s, err)
	require.Len(s, all, writers*commits)
	require.NotEmpty(s, fences)
	for at, head := range fences {
		for _, commit := range all {
			require.False(s, head < commit.Sequence && commit.Sequence < at, "commit %d lies between head %d and its fence %d", commit.Sequence, head, at)
		}
	}
}

// fencesAtOnce: a fence moves no head, so that any number of them are right at once. Nor does it refuse the commit that follows.
func fencesAtOnce(s *suite) {
	const readers, rounds = 6, 20
	member := newMember()
	ways := append([]log.Log{s.Log}, s.Others...)
	head := uint64(0)
	for round := range rounds {
		var group sync.WaitGroup
		for reader := range readers {
			group.Go(func() {
				_, err := ways[reader%len(ways)].AppendFence(s.ctx, s.org, member, head, []byte("f"))
				if err != nil {
					s.Errorf("round %d, reader %d: %v", round, reader, err)
				}
			})
		}
		group.Wait()
		next, err := s.Log.Append(s.ctx, s.org, member, head, []byte("c"))
		require.NoError(s, err, "round %d", round)
		head = next
	}
}

func loadRange(s *suite) {
	member := newMember()
	at := s.fill(member, 9)
	for from := range at {
		for to := from; to < len(at); to++ {
			got, err := s.Log.Load(s.ctx, s.org, member, at[from], at[to])
			require.NoError(s, err)
			require.Equal(s, append([]uint64(nil), at[from+1:to+1]...), sequences(got))
		}
	}
	got, err := s.Log.Load(s.ctx, s.org, member, 0, at[8])
	require.NoError(s, err)
	require.Equal(s, at, sequences(got))
	for i, m := range got {
		require.Equal(s, events.Subject(s.org, member), m.Subject)
		require.Equal(s, fmt.Sprint(i), string(m.Body))
		require.Equal(s, time.UTC, m.Stored.Location())
		require.WithinDuration(s, time.Now(), m.Stored, limit)
	}
	for _, empty := range []uint64{0, at[8], at[8] + 5} {
		got, err := s.Log.Load(s.ctx, s.org, member, empty, empty)
		require.NoError(s, err)
		require.Empty(s, got)
	}
}

func after(position uint64) func() uint64 { return func() uint64 { return position } }

// everywhere is the log and each of the other ways to it.
func (s *suite) everywhere() []log.Log { return append([]log.Log{s.Log}, s.Others...) }

func toHead(s *suite) {
	member := newMember()
	for _, l := range s.everywhere() {
		got, err := l.ToHead(s.ctx, s.org, member, after(0))
		require.NoError(s, err)
		require.Empty(s, got)
	}
	at := s.fill(member, 9)
	s.append(newMember(), 0, "x")
	want, err := s.Log.Load(s.ctx, s.org, member, 0, at[8])
	require.NoError(s, err)
	for _, l := range s.everywhere() {
		for n := range want {
			got, err := l.ToHead(s.ctx, s.org, member, after(at[n]-1))
			require.NoError(s, err)
			require.Equal(s, want[n:], got)
		}
		for _, beyond := range []uint64{at[8], at[8] + 1, at[8] + 5000} {
			got, err := l.ToHead(s.ctx, s.org, member, after(beyond))
			require.NoError(s, err)
			require.Empty(s, got)
		}
	}
}

// What was acknowledged before the call is in it, whoever is asked and however much is written meanwhile.
func toHeadBesideAWriter(s *suite) {
	member := newMember()
	var acknowledged atomic.Uint64
	acknowledged.Store(s.append(member, 0, "first"))
	written := make(chan struct{})
	var readers sync.WaitGroup
	for _, l := range s.everywhere() {
		readers.Go(func() {
			for writing := true; writing; {
				select {
				case <-written:
					writing = false
				default:
				}
				least := acknowledged.Load()
				got, err := l.ToHead(s.ctx, s.org, member, after(0))
				if err != nil || len(got) == 0 || got[len(got)-1].Sequence < least {
					s.Errorf("%d messages, less than up to %d: %v", len(got), least, err)
					return
				}
				for n, m := range got[1:] {
					if m.Sequence != got[n].Sequence+1 {
						s.Errorf("%d follows %d", m.Sequence, got[n].Sequence)
						return
					}
				}
			}
		})
	}
	for range 200 {
		acknowledged.Store(s.append(member, acknowledged.Load(), "x"))
	}
	close(written)
	readers.Wait()
}

func loadShort(s *suite) {
	member, other := newMember(), newMember()
	head := s.fill(member, 3)[2]
	beyond := s.append(other, 0, "x")
	for _, upTo := range []uint64{beyond, beyond + 1, beyond + 5000} {
		_, err := s.Log.Load(s.ctx, s.org, member, 0, upTo)
		require.ErrorIs(s, err, log.ErrUnavailable, "nothing of it stands at %d", upTo)
	}
	_, err := s.Log.Load(s.ctx, s.org, member, head, beyond)
	require.ErrorIs(s, err, log.ErrUnavailable)
	_, err = s.Log.Load(s.ctx, s.org, newMember(), 0, head)
	require.ErrorIs(s, err, log.ErrUnavailable)
}

func loadLong(s *suite) {
	commits := s.Long
	if commits == 0 {
		commits = 10_000
	}
	long, other := newMember(), newMember()
	var want []uint64
	var last, lastOther uint64
	for i := range commits {
		last = s.append(long, last, fmt.Sprint(i))
		want = append(want, last)
		if i%7 == 0 {
			lastOther = s.append(other, lastOther, "x")
		}
	}
	for _, from := range []int{0, 1, 999, 1000, 1001, commits / 2, commits - 1} {
		after := uint64(0)
		if from > 0 {
			after = want[from-1]
		}
		got, err := s.Log.Load(s.ctx, s.org, long, after, last)
		require.NoError(s, err)
		require.Equal(s, want[from:], sequences(got))
		require.Equal(s, fmt.Sprint(from), string(got[0].Body))
		same, err := s.Log.ToHead(s.ctx, s.org, long, func() uint64 { return after })
		require.NoError(s, err)
		require.Equal(s, got, same)
	}
	for _, to := range []int{0, 1, 998, commits * 3 / 7} { // up to where it was once
		got, err := s.Log.Load(s.ctx, s.org, long, 0, want[to])
		require.NoError(s, err)
		require.Equal(s, want[:to+1], sequences(got))
	}
}

func headOfNothing(s *suite) {
	require.Zero(s, s.head(newMember()))
	last, err := s.Log.Last(s.ctx, events.StreamFor(s.org))
	require.NoError(s, err)
	require.Zero(s, last)
	s.fill(newMember(), 2)
	require.Zero(s, s.head(newMember()))
	require.Zero(s, s.head(events.Organisation()))
	nothing, err := s.Log.Newest(s.ctx, s.org, newMember())
	require.NoError(s, err)
	require.Zero(s, nothing)
}

// newest is what Load would bring last, whole; and of this aggregate only.
func newest(s *suite) {
	member := newMember()
	at := s.fill(member, 3)
	s.append(newMember(), 0, "x")
	loaded, err := s.Log.Load(s.ctx, s.org, member, at[1], at[2])
	require.NoError(s, err)
	got, err := s.Log.Newest(s.ctx, s.org, member)
	require.NoError(s, err)
	require.Equal(s, loaded[0], got)
	for _, other := range s.Others {
		next := s.append(member, s.head(member), "seen at once, whoever is asked")
		got, err := other.Newest(s.ctx, s.org, member)
		require.NoError(s, err)
		require.Equal(s, next, got.Sequence)
	}
}

func interleaved(s *suite) {
	a, b := newMember(), events.Organisation()
	var lastA, lastB uint64
	for i := range 20 {
		lastA = s.append(a, lastA, fmt.Sprint("a", i))
		lastB = s.append(b, lastB, fmt.Sprint("b", i))
	}
	for aggregate, letter := range map[events.Aggregate]string{a: "a", b: "b"} {
		got, err := s.Log.Load(s.ctx, s.org, aggregate, 0, s.head(aggregate))
		require.NoError(s, err)
		require.Len(s, got, 20)
		for i, m := range got {
			require.Equal(s, fmt.Sprint(letter, i), string(m.Body))
		}
	}
	last, err := s.Log.Last(s.ctx, events.StreamFor(s.org))
	require.NoError(s, err)
	require.EqualValues(s, 40, last)
}

func isolation(s *suite) {
	member := newMember()
	s.append(member, 0, "here")
	other := *s
	other.org = newOrganisation()
	require.NoError(s, s.Log.CreateOrganisation(s.ctx, other.org))
	require.Zero(s, other.head(member), "the same member id elsewhere")
	require.EqualValues(s, 1, other.append(member, 0, "there"))

	got := s.take(s.follow(0), 1, 10)
	require.Equal(s, "here", string(got[0].Body))
	got = other.take(other.follow(0), 1, 10)
	require.Equal(s, "there", string(got[0].Body))
}

func access(s *suite) {
	for i := range 3 {
		sequence, err := s.Log.AppendAccess(s.ctx, s.org, events.RecallSubject(s.org), fmt.Append(nil, i))
		require.NoError(s, err)
		require.EqualValues(s, i+1, sequence)
	}
	_, err := s.Log.AppendAccess(s.ctx, s.org, "iris.access."+s.org+".brief", []byte("b"))
	require.NoError(s, err)
	m, err := s.Log.At(s.ctx, events.AccessStreamFor(s.org), 2)
	require.NoError(s, err)
	require.Equal(s, "1", string(m.Body))
	f, err := s.Log.Follow(s.ctx, events.AccessStreamFor(s.org), 1)
	require.NoError(s, err)
	s.Cleanup(f.Close)
	s.contiguous(s.take(f, 3, 10), 2)

	for _, subject := range []string{
		"", events.RecallSubject("other"), events.Subject(s.org, events.Organisation()), "iris.access." + s.org + ".*", "iris.access." + s.org + ".>",
	} {
		_, err := s.Log.AppendAccess(s.ctx, s.org, subject, []byte("x"))
		require.ErrorIs(s, err, log.ErrRefused, subject)
	}
	last, err := s.Log.Last(s.ctx, events.StreamFor(s.org))
	require.NoError(s, err)
	require.Zero(s, last, "an envelope is no commit")
}

func at(s *suite) {
	member := newMember()
	s.fill(member, 3)
	for sequence := uint64(1); sequence <= 3; sequence++ {
		m, err := s.Log.At(s.ctx, events.StreamFor(s.org), sequence)
		require.NoError(s, err)
		require.Equal(s, sequence, m.Sequence)
		require.Equal(s, events.Subject(s.org, member), m.Subject)
		require.Equal(s, fmt.Sprint(sequence-1), string(m.Body))
	}
	for _, none := range []uint64{0, 4, 1 << 60} {
		_, err := s.Log.At(s.ctx, events.StreamFor(s.org), none)
		require.ErrorIs(s, err, log.ErrNotFound)
	}
}

func ownership(s *suite) {
	member, body := newMember(), []byte("kept")
	head, err := s.Log.Append(s.ctx, s.org, member, 0, body)
	require.NoError(s, err)
	copy(body, "lost")
	for range 2 {
		got, err := s.Log.Load(s.ctx, s.org, member, 0, head)
		require.NoError(s, err)
		require.Equal(s, "kept", string(got[0].Body))
		copy(got[0].Body, "lost")
		m, err := s.Log.At(s.ctx, events.StreamFor(s.org), head)
		require.NoError(s, err)
		require.Equal(s, "kept", string(m.Body))
		copy(m.Body, "lost")
		followed := s.take(s.follow(0), 1, 1)
		require.Equal(s, "kept", string(followed[0].Body))
		copy(followed[0].Body, "lost")
	}
}

func followFrom(s *suite) {
	const n = 25
	s.fill(newMember(), n)
	for _, after := range []uint64{0, 1, 12, n - 1} {
		for _, most := range []int{1, 4, 1000} {
			s.contiguous(s.take(s.follow(after), n-int(after), most), after+1)
		}
	}
}

func followWriter(s *suite) {
	const n = 2000
	f := s.follow(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a, b := newMember(), newMember()
		var lastA, lastB uint64
		for range n / 2 {
			var err error
			if lastA, err = s.Log.Append(s.ctx, s.org, a, lastA, []byte("a")); err != nil {
				s.Errorf("append: %v", err)
				return
			}
			if lastB, err = s.Log.Append(s.ctx, s.org, b, lastB, []byte("b")); err != nil {
				s.Errorf("append: %v", err)
				return
			}
		}
	}()
	s.contiguous(s.take(f, n, 50), 1)
	<-done
}

func followWaits(s *suite) {
	member := newMember()
	f := s.follow(0)
	var last uint64
	for i := range 3 {
		got := make(chan []log.Message, 1)
		go func() {
			batch, err := f.Next(s.ctx, 10)
			if err != nil {
				s.Errorf("next: %v", err)
			}
			got <- batch
		}()
		last = s.append(member, last, fmt.Sprint(i))
		batch := <-got
		require.Len(s, batch, 1)
		require.Equal(s, last, batch[0].Sequence)
	}
}

func followCancelled(s *suite) {
	member := newMember()
	f := s.follow(0)
	var last uint64
	for range 50 {
		// The append and the end of the context race: whoever wins, nothing may be lost.
		ctx, cancel := context.WithCancel(s.ctx)
		go cancel()
		last = s.append(member, last, "x")
		batch, err := f.Next(ctx, 10)
		if err != nil {
			require.ErrorIs(s, err, context.Canceled)
			batch, err = f.Next(s.ctx, 10)
			require.NoError(s, err)
		}
		require.Equal(s, []uint64{last}, sequences(batch))
	}
}

func followClosed(s *suite) {
	f := s.follow(0)
	failed := make(chan error, 1)
	go func() {
		_, err := f.Next(s.ctx, 1)
		failed <- err
	}()
	f.Close()
	f.Close()
	require.ErrorIs(s, <-failed, log.ErrUnavailable)
	s.append(newMember(), 0, "x")
	_, err := f.Next(s.ctx, 1)
	require.ErrorIs(s, err, log.ErrUnavailable)
}

func followBeyond(s *suite) {
	s.fill(newMember(), 2)
	_, err := s.Log.Follow(s.ctx, events.StreamFor(s.org), 3)
	require.ErrorIs(s, err, log.ErrDrift)
	_, err = s.Log.Follow(s.ctx, events.InboxStream, 0)
	require.ErrorIs(s, err, log.ErrRefused)
}

func followThroughRestart(s *suite, restart func()) {
	member := newMember()
	f := s.follow(0)
	var last uint64
	for round := range 3 {
		first := last + 1
		for range 20 {
			last = s.append(member, last, "x")
		}
		s.contiguous(s.take(f, 12, 12), first)

		// Behind by eight, and once more idle in Next: both go on.
		restart()
		s.contiguous(s.take(f, 8, 5), first+12)
		got := make(chan []log.Message, 1)
		go func() {
			batch, err := f.Next(s.ctx, 1)
			if err != nil {
				s.Errorf("next in round %d: %v", round, err)
			}
			got <- batch
		}()
		restart()
		last = s.append(member, last, "after")
		require.Equal(s, []uint64{last}, sequences(<-got))
	}
	require.Equal(s, last, s.head(member))
	require.NoError(s, s.Log.OpenOrganisation(s.ctx, s.org))
}

func tooLarge(s *suite) {
	member := newMember()
	body := []byte(strings.Repeat("x", log.MaxBody+1))
	_, err := s.Log.Append(s.ctx, s.org, member, 0, body)
	require.ErrorIs(s, err, log.ErrTooLarge)
	_, err = s.Log.AppendAccess(s.ctx, s.org, events.RecallSubject(s.org), body)
	require.ErrorIs(s, err, log.ErrTooLarge)
	require.Zero(s, s.head(member))

	var last uint64
	for range 80 { // together more than one answer of the broker holds
		last = s.append(member, last, string(body[:log.MaxBody]))
	}
	got, err := s.Log.Load(s.ctx, s.org, member, 0, last)
	require.NoError(s, err)
	require.Len(s, got, 80)
	require.Len(s, got[79].Body, log.MaxBody)
	s.contiguous(s.take(s.follow(0), 80, 100), 1)

	_, err = s.Log.Append(s.ctx, s.org, member, last, nil)
	require.ErrorIs(s, err, log.ErrRefused, "an empty body")
}

func badIDs(s *suite) {
	good := newMember()
	calls := func(org string, a events.Aggregate) map[string]error {
		_, append := s.Log.Append(s.ctx, org, a, 0, []byte("x"))
		_, head := s.Log.Head(s.ctx, org, a)
		_, load := s.Log.Load(s.ctx, org, a, 0, 1)
		_, fence := s.Log.AppendFence(s.ctx, org, a, 0, []byte("x"))
		_, together := s.Log.AppendTogether(s.ctx, org, []log.Part{{Aggregate: good, Body: []byte("x")}, {Aggregate: a, Body: []byte("x")}})
		return map[string]error{"append": append, "head": head, "load": load, "fence": fence, "together": together}
	}
	for _, org := range BadOrganisations() {
		all := calls(org, good)
		all["create"], all["open"] = s.Log.CreateOrganisation(s.ctx, org), s.Log.OpenOrganisation(s.ctx, org)
		_, all["access"] = s.Log.AppendAccess(s.ctx, org, events.RecallSubject(org), []byte("x"))
		_, all["last"] = s.Log.Last(s.ctx, "IRIS_"+org+"*")
		for call, err := range all {
			require.ErrorIs(s, err, log.ErrRefused, "%s of %q", call, org)
		}
	}
	for _, a := range BadAggregates() {
		for call, err := range calls(s.org, a) {
			require.ErrorIs(s, err, log.ErrRefused, "%s of %v", call, a)
		}
	}
	for _, stream := range []string{"", "IRIS_", "IRIS_*", "IRIS_a", "IRIS_ACCESS_", "KV_X", "IRIS_ORG", "IRIS_A.B"} {
		_, err := s.Log.At(s.ctx, stream, 1)
		require.ErrorIs(s, err, log.ErrRefused, stream)
		_, err = s.Log.Follow(s.ctx, stream, 0)
		require.ErrorIs(s, err, log.ErrRefused, stream)
	}
}

// BadOrganisations are what the broker itself would take, or nearly.
func BadOrganisations() []string {
	return []string{
		"", "*", ">", "a.b", "a b", "A", "-a", "a_b", "a\u202eb", "ä", "a\x00", "a\r\nb", strings.Repeat("a", 64),
		"in", "out", "inbox", "access", "org", "fence", "sys",
	}
}

// BadAggregates are no aggregate's name.
func BadAggregates() []events.Aggregate {
	id := newMember().ID
	return []events.Aggregate{
		{}, {Kind: "fence"}, {Kind: "*"}, {Kind: events.AggregateMember}, {Kind: events.AggregateOrganisation, ID: id}, {Kind: events.AggregateSession}, events.Session("s-81"), {Kind: "member.x", ID: id},
		events.Member("*"), events.Member(">"), events.Member("x"), events.Member("00000000-0000-0000-0000-000000000000"),
		{Kind: events.AggregateRole}, events.Role("*"), events.Role("a.b"), events.Role("Reviewer"), events.Role("fence"), events.Role("a_b"),
		events.Member(events.ID(strings.ToUpper(string(id)) + "")), events.Member("{" + id + "}"), events.Member(id + ".x"),
	}
}

func missingStream(s *suite) {
	org, member := newOrganisation(), newMember()
	for range 2 {
		calls := map[string]error{"open": s.Log.OpenOrganisation(s.ctx, org)}
		_, calls["append"] = s.Log.Append(s.ctx, org, member, 0, []byte("x"))
		_, calls["access"] = s.Log.AppendAccess(s.ctx, org, events.RecallSubject(org), []byte("x"))
		_, calls["fence"] = s.Log.AppendFence(s.ctx, org, member, 0, []byte("x"))
		_, calls["together"] = s.Log.AppendTogether(s.ctx, org, []log.Part{{Aggregate: member, Body: []byte("x")}, {Aggregate: newMember(), Body: []byte("x")}})
		_, calls["head"] = s.Log.Head(s.ctx, org, member)
		_, calls["newest"] = s.Log.Newest(s.ctx, org, member)
		_, calls["load"] = s.Log.Load(s.ctx, org, member, 0, 1)
		_, calls["at"] = s.Log.At(s.ctx, events.StreamFor(org), 1)
		_, calls["last"] = s.Log.Last(s.ctx, events.StreamFor(org))
		_, calls["follow"] = s.Log.Follow(s.ctx, events.StreamFor(org), 0)
		for call, err := range calls {
			require.ErrorIs(s, err, log.ErrMissingStream, call)
		}
	}
}

func again(s *suite) {
	member := newMember()
	head := s.append(member, 0, "x")
	for range 2 {
		require.NoError(s, s.Log.CreateOrganisation(s.ctx, s.org))
		require.NoError(s, s.Log.OpenOrganisation(s.ctx, s.org))
		require.Equal(s, head, s.head(member))
	}
}

func faults(s *suite) {
	faulty := log.NewFaulty(s.Log)
	member, recall := newMember(), events.RecallSubject(s.org)

	faulty.FailNext(log.OpAppend, log.ErrorBefore)
	_, err := faulty.Append(s.ctx, s.org, member, 0, []byte("a"))
	require.ErrorIs(s, err, log.ErrAmbiguous)
	require.Zero(s, s.head(member), "a lost request")

	faulty.FailNext(log.OpAppend, log.ErrorAfter)
	_, err = faulty.Append(s.ctx, s.org, member, 0, []byte("a"))
	require.ErrorIs(s, err, log.ErrAmbiguous)
	head := s.head(member)
	require.NotZero(s, head, "a lost answer")
	found, err := faulty.Load(s.ctx, s.org, member, 0, head)
	require.NoError(s, err)
	require.Equal(s, "a", string(found[0].Body))
	_, err = faulty.Append(s.ctx, s.org, member, 0, []byte("a"))
	require.ErrorIs(s, err, log.ErrConflict, "the retry meets itself")

	faulty.FailNextWith(log.OpAppend, log.ErrorAfter, log.ErrConflict)
	_, err = faulty.Append(s.ctx, s.org, member, head, []byte("b"))
	require.ErrorIs(s, err, log.ErrConflict)
	require.Greater(s, s.head(member), head, "a conflict may be a success")

	other := newMember()
	for fault, want := range map[log.Fault]bool{log.ErrorBefore: false, log.ErrorAfter: true} {
		parts := []log.Part{{Aggregate: member, Expected: s.head(member), Body: []byte("c")}, {Aggregate: other, Expected: s.head(other), Body: []byte("c")}}
		faulty.FailNext(log.OpTogether, fault)
		_, err = faulty.AppendTogether(s.ctx, s.org, parts)
		require.ErrorIs(s, err, log.ErrAmbiguous)
		for _, p := range parts {
			require.Equal(s, want, s.head(p.Aggregate) > p.Expected, "all or nothing, whatever was answered")
		}
	}

	faulty.FailNext(log.OpAppendAccess, log.ErrorBefore)
	faulty.FailNext(log.OpAppendAccess, log.ErrorAfter)
	for i, want := range []uint64{0, 1} {
		_, err = faulty.AppendAccess(s.ctx, s.org, recall, []byte("a"))
		require.ErrorIs(s, err, log.ErrAmbiguous)
		last, err := faulty.Last(s.ctx, events.AccessStreamFor(s.org))
		require.NoError(s, err)
		require.Equal(s, want, last, "fault %d", i)
	}
	_, err = faulty.AppendAccess(s.ctx, s.org, recall, []byte("a"))
	require.NoError(s, err, "no fault is left")

	fenced := s.head(member)
	faulty.FailNextWith(log.OpAppendFence, log.ErrorBefore, log.ErrConflict)
	_, err = faulty.AppendFence(s.ctx, s.org, member, fenced, []byte("f"))
	require.ErrorIs(s, err, log.ErrConflict)
	_, err = faulty.AppendFence(s.ctx, s.org, member, fenced, []byte("f"))
	require.NoError(s, err)

	faulty.FailNext(log.OpHead, log.ErrorBefore)
	_, err = faulty.Head(s.ctx, s.org, member)
	require.ErrorIs(s, err, log.ErrUnavailable)
}

func cancelled(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	member := newMember()
	_, err := s.Log.Append(ctx, s.org, member, 0, []byte("x"))
	require.ErrorIs(s, err, log.ErrUnavailable, "nothing was sent")
	require.ErrorIs(s, err, context.Canceled)
	_, err = s.Log.Newest(ctx, s.org, member)
	require.ErrorIs(s, err, context.Canceled)
	_, err = s.Log.Head(ctx, s.org, member)
	require.ErrorIs(s, err, context.Canceled)
	require.Zero(s, s.head(member))
}

// anyHistory drives random appends and reads against the plainest model: a list for each aggregate. All histories follow each
// other on one stream: on a cluster each stream costs an election.
func anyHistory(s *suite) {
	rapid.Check(s.T, func(t *rapid.T) {
		aggregates := []events.Aggregate{newMember(), newMember(), newMember()}
		model := map[events.Aggregate][]uint64{}
		head := func(a events.Aggregate) uint64 {
			if all := model[a]; len(all) > 0 {
				return all[len(all)-1]
			}
			return 0
		}
		stored, err := s.Log.Last(s.ctx, events.StreamFor(s.org))
		require.NoError(t, err)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				a := rapid.SampledFrom(aggregates).Draw(t, "aggregate")
				expected := rapid.SampledFrom([]uint64{head(a), head(a), head(a), stored, stored + 1, 0}).Draw(t, "expected")
				sequence, err := s.Log.Append(s.ctx, s.org, a, expected, []byte(a.String()))
				if expected != head(a) {
					require.ErrorIs(t, err, log.ErrConflict)
					return
				}
				require.NoError(t, err)
				stored++
				require.Equal(t, stored, sequence)
				model[a] = append(model[a], sequence)
			},
			"fence": func(t *rapid.T) {
				a := rapid.SampledFrom(aggregates).Draw(t, "aggregate")
				expected := rapid.SampledFrom([]uint64{head(a), head(a), stored, 0}).Draw(t, "expected")
				_, err := s.Log.AppendFence(s.ctx, s.org, a, expected, []byte("f"))
				if expected != head(a) {
					require.ErrorIs(t, err, log.ErrConflict)
					return
				}
				require.NoError(t, err)
				stored++
			},
			"head": func(t *rapid.T) {
				a := rapid.SampledFrom(aggregates).Draw(t, "aggregate")
				got, err := s.Log.Head(s.ctx, s.org, a)
				require.NoError(t, err)
				require.Equal(t, head(a), got)
			},
			"load": func(t *rapid.T) {
				a := rapid.SampledFrom(aggregates).Draw(t, "aggregate")
				if head(a) == 0 {
					return
				}
				after := rapid.SampledFrom(append([]uint64{0, stored}, model[a]...)).Draw(t, "after")
				got, err := s.Log.Load(s.ctx, s.org, a, after, head(a))
				require.NoError(t, err)
				var want []uint64
				for _, sequence := range model[a] {
					if sequence > after {
						want = append(want, sequence)
					}
				}
				require.Equal(t, want, sequences(got))
			},
		})
	})
}
