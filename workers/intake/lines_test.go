package intake

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
)

func claimOf(sequence uint64, member *acts.MemberRef) inHand {
	return inHand{claim: eventlog.Claim{Organisation: "acme", Sequence: sequence}, message: message{Data: acts.Proposal{Member: member}}}
}

// However claims come and are worked off, those of a line go one behind the other in the order in which they came, each once, and a
// line has one worker.
func TestLinesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLines(1)
		worked := map[string]bool{}
		came, went := map[string][]uint64{}, map[string][]uint64{}
		for sequence := range uint64(rapid.IntRange(0, 60).Draw(t, "steps")) {
			of := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "line"))
			if worked[of] && rapid.Bool().Draw(t, "work") {
				next, ok := l.first(of)
				if worked[of] = ok; ok {
					went[of] = append(went[of], next.claim.Sequence)
				}
				continue
			}
			begins := l.join(of, claimOf(sequence, nil))
			require.Equal(t, !worked[of], begins)
			worked[of] = true
			came[of] = append(came[of], sequence)
		}
		for of := range worked {
			for next, ok := l.first(of); ok; next, ok = l.first(of) {
				went[of] = append(went[of], next.claim.Sequence)
			}
		}
		require.Equal(t, came, went)
		require.Empty(t, l.waiting)
	})
}

func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	l := newLines(2)
	ctx, stop := context.WithCancel(t.Context())
	require.True(t, l.wait(ctx))
	require.True(t, l.wait(ctx))
	had := make(chan bool)
	go func() { had <- l.wait(ctx) }()
	require.Empty(t, had)
	l.leave()
	require.True(t, <-had)
	go func() { had <- l.wait(ctx) }()
	stop()
	require.False(t, <-had)
}

// What names nobody follows on nothing: a producer that sends only such doesn't wait for itself.
func TestWhoseLineAClaimStandsIn(t *testing.T) {
	t.Parallel()
	ada, bob := &acts.MemberRef{Subject: "ada"}, &acts.MemberRef{Subject: "bob"}
	require.Equal(t, lineOf(claimOf(1, ada)), lineOf(claimOf(2, ada)))
	require.NotEqual(t, lineOf(claimOf(1, ada)), lineOf(claimOf(2, bob)))
	require.NotEqual(t, lineOf(claimOf(1, &acts.MemberRef{ID: events.ID("ada")})), lineOf(claimOf(2, bob)))
	require.NotEqual(t, lineOf(claimOf(1, nil)), lineOf(claimOf(2, nil)))
}
