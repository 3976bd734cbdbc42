package intake_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/workers/intake"
)

// A claim that waits for more than an hour, taken or not, is an alarm until it is settled (spec 9.2).
func TestIntakeIsBehindAfterAnHour(t *testing.T) {
	t.Parallel()
	server := testkit.NATS(t)
	conn, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	log, err := eventlog.New(conn, eventlog.Config{})
	require.NoError(t, err)
	require.ErrorIs(t, intake.Behind(t.Context(), log, time.Now()), eventlog.ErrMissingStream)
	require.NoError(t, log.CreateInbox(t.Context()))
	behind := func(in time.Duration) error { return intake.Behind(t.Context(), log, time.Now().Add(in)) }
	require.NoError(t, behind(24*time.Hour), "nothing waits")

	require.NoError(t, log.Resubmit(t.Context(), "acme", "notes", []byte("{}")))
	require.NoError(t, behind(59*time.Minute))
	require.ErrorIs(t, behind(61*time.Minute), intake.ErrBehind)
	inbox, err := log.Claims(t.Context(), "intake")
	require.NoError(t, err)
	t.Cleanup(inbox.Close)
	claim, err := inbox.Next(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, behind(61*time.Minute), intake.ErrBehind, "taken, but not settled")
	require.NoError(t, claim.Ack(t.Context()))
	require.NoError(t, behind(61*time.Minute))
}
