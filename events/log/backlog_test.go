package log_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
)

func TestTheOldestClaimIsTheOneNobodySettled(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	in := openInbox(t, b)
	_, waiting, err := b.log.OldestClaim(b.ctx)
	require.NoError(t, err)
	require.False(t, waiting)

	for _, body := range []string{"one", "two"} {
		require.Zero(t, claim(t, b, events.ProposedSubject("acme", "shell"), body))
	}
	first, err := in.Next(b.ctx)
	require.NoError(t, err)
	second, err := in.Next(b.ctx)
	require.NoError(t, err)
	require.NoError(t, second.Ack(b.ctx))
	came, waiting, err := b.log.OldestClaim(b.ctx)
	require.NoError(t, err)
	require.True(t, waiting)
	require.WithinDuration(t, first.Received, came, time.Microsecond)
	require.NoError(t, first.Ack(b.ctx))
	_, waiting, err = b.log.OldestClaim(b.ctx)
	require.NoError(t, err)
	require.False(t, waiting)
}

func TestAClaimIsTakenInAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{InboxMaxPerProducer: 1})
	in := openInbox(t, b)
	require.NoError(t, b.log.Resubmit(b.ctx, "acme", "shell", []byte("again")))
	require.ErrorIs(t, b.log.Resubmit(b.ctx, "acme", "shell", []byte("too much")), log.ErrInboxFull)
	require.ErrorIs(t, b.log.Resubmit(b.ctx, "acme", "*", []byte("x")), log.ErrRefused)
	c, err := in.Next(b.ctx)
	require.NoError(t, err)
	require.Equal(t, "again", string(c.Body))
	require.Equal(t, "shell", c.Producer)
	require.NoError(t, c.Ack(b.ctx))
}
