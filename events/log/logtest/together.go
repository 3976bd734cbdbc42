package logtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
)

func part(a events.Aggregate, expected uint64, body string) log.Part {
	return log.Part{Aggregate: a, Expected: expected, Body: []byte(body)}
}

func together(s *suite) {
	member, role, third := newMember(), events.Role("reviewer"), newMember()
	first, err := s.Log.AppendTogether(s.ctx, s.org, []log.Part{part(member, 0, "m1"), part(role, 0, "r1")})
	require.NoError(s, err)
	require.Equal(s, []uint64{1, 2}, first, "in the order given, one after the other")
	require.Equal(s, first, []uint64{s.head(member), s.head(role)})

	for name, stale := range map[string][]log.Part{
		"the first":      {part(member, 0, "x"), part(role, first[1], "x")},
		"the second":     {part(member, first[0], "x"), part(role, 0, "x")},
		"both":           {part(member, 0, "x"), part(role, 0, "x")},
		"the last of 3":  {part(member, first[0], "x"), part(role, first[1], "x"), part(third, 7, "x")},
		"each other's":   {part(member, first[1], "x"), part(role, first[0], "x")},
		"one that's new": {part(member, first[0], "x"), part(third, first[1], "x")},
	} {
		_, err := s.Log.AppendTogether(s.ctx, s.org, stale)
		require.ErrorIs(s, err, log.ErrConflict, name)
	}
	require.Zero(s, s.head(third))
	last, err := s.Log.Last(s.ctx, events.StreamFor(s.org))
	require.NoError(s, err)
	require.EqualValues(s, 2, last, "nothing is stored of what was refused, and no sequence is used up")

	alone := s.append(role, first[1], "r2")
	second, err := s.Log.AppendTogether(s.ctx, s.org, []log.Part{part(role, alone, "r3"), part(third, 0, "t1"), part(member, first[0], "m2")})
	require.NoError(s, err)
	require.Equal(s, []uint64{4, 5, 6}, second)
	got, err := s.Log.Load(s.ctx, s.org, role, 0, second[0])
	require.NoError(s, err)
	require.Equal(s, []uint64{first[1], alone, second[0]}, sequences(got))
	for i, m := range s.take(s.follow(0), 6, 10) {
		require.Equal(s, []string{"m1", "r1", "r2", "r3", "t1", "m2"}[i], string(m.Body))
	}

	for name, refused := range map[string][]log.Part{
		"nothing": nil, "one aggregate twice": {part(third, second[1], "a"), part(third, second[1], "b")}, "an empty body": {part(third, second[1], "")},
	} {
		_, err := s.Log.AppendTogether(s.ctx, s.org, refused)
		require.ErrorIs(s, err, log.ErrRefused, name)
	}
	_, err = s.Log.AppendTogether(s.ctx, s.org, []log.Part{part(member, second[2], "m"), part(third, second[1], strings.Repeat("x", log.MaxBody+1))})
	require.ErrorIs(s, err, log.ErrTooLarge)
	require.Equal(s, second[2], s.head(member))
}

// togetherRace: deciders over two aggregates meet writers of either one alone, and each other in the other order. Whoever is
// told yes was right about both heads, and what is stored of one batch is stored of all of it.
func togetherRace(s *suite) {
	const racers, rounds = 12, 40
	a, b := newMember(), events.Role("statistician")
	ways := append([]log.Log{s.Log}, s.Others...)
	for round := range rounds {
		headA, headB := s.head(a), s.head(b)
		var both, onA, onB atomic.Int32
		var group sync.WaitGroup
		for racer := range racers {
			way, body := ways[racer%len(ways)], fmt.Sprintf("%d/%d", round, racer)
			group.Go(func() {
				won, err := &both, error(nil)
				switch racer % 4 {
				case 0:
					_, err = way.AppendTogether(s.ctx, s.org, []log.Part{part(a, headA, body), part(b, headB, body)})
				case 1:
					_, err = way.AppendTogether(s.ctx, s.org, []log.Part{part(b, headB, body), part(a, headA, body)})
				case 2:
					_, err = way.Append(s.ctx, s.org, a, headA, []byte(body))
					won = &onA
				case 3:
					_, err = way.Append(s.ctx, s.org, b, headB, []byte(body))
					won = &onB
				}
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, log.ErrConflict) {
					s.Errorf("racer %d: %v", racer, err)
				}
			})
		}
		group.Wait()
		require.LessOrEqual(s, both.Load()+onA.Load(), int32(1), "round %d: two on one head", round)
		require.LessOrEqual(s, both.Load()+onB.Load(), int32(1), "round %d: two on one head", round)
		require.EqualValues(s, both.Load()+onA.Load()+onB.Load(), s.moved(a, headA)+s.moved(b, headB)-int(both.Load()), "round %d", round)
	}
}

// moved is how many commits an aggregate has beyond a head.
func (s *suite) moved(a events.Aggregate, since uint64) int {
	s.Helper()
	got, err := s.Log.Load(s.ctx, s.org, a, since, s.head(a))
	require.NoError(s, err)
	return len(got)
}
