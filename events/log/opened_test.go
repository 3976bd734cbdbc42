package log_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
)

// The inbox is opened by those who may not make it, and held to what it must be.
func TestOpenInbox(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	require.ErrorIs(t, b.log.OpenInbox(b.ctx), log.ErrMissingStream)
	require.NoError(t, b.log.CreateInbox(b.ctx))
	require.NoError(t, b.log.OpenInbox(b.ctx))
	other, err := log.New(b.conn, log.Config{InboxMaxPerProducer: 7})
	require.NoError(t, err)
	require.ErrorIs(t, other.OpenInbox(b.ctx), log.ErrDrift)
}

// The last commit is found of whichever aggregate it is, with fences behind it.
func TestLastCommit(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	require.NoError(t, b.log.CreateOrganisation(b.ctx, "acme"))
	_, err := b.log.LastCommit(b.ctx, "acme")
	require.ErrorIs(t, err, log.ErrNotFound)
	_, err = b.log.LastCommit(b.ctx, "*")
	require.ErrorIs(t, err, log.ErrRefused)

	member := member()
	for n, a := range []events.Aggregate{events.Organisation(), member} {
		stored, err := b.log.Append(b.ctx, "acme", a, 0, []byte("fact"))
		require.NoError(t, err)
		for range 3 {
			head := stored
			if a.ID == "" {
				head = 0
			}
			_, err := b.log.AppendFence(b.ctx, "acme", member, head, []byte("fence"))
			require.NoError(t, err)
		}
		last, err := b.log.LastCommit(b.ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, stored, last.Sequence, n)
		require.Equal(t, events.Subject("acme", a), last.Subject)
	}
}
