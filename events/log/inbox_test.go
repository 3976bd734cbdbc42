package log_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
)

func decode(t *testing.T, data []byte, into any) {
	if err := json.Unmarshal(data, into); err != nil {
		t.Errorf("decode: %v", err)
	}
}

// claim publishes as a producer does: a request, no message id.
func claim(t *testing.T, b *bench, subject, body string) (code int) {
	t.Helper()
	reply, err := b.conn.RequestWithContext(b.ctx, subject, []byte(body))
	require.NoError(t, err)
	var ack struct {
		Error struct {
			Code int `json:"err_code"`
		} `json:"error"`
	}
	decode(t, reply.Data, &ack)
	return ack.Error.Code
}

func openInbox(t *testing.T, b *bench) *log.Inbox {
	t.Helper()
	require.NoError(t, b.log.CreateInbox(b.ctx))
	in, err := b.log.Claims(b.ctx, "intake")
	require.NoError(t, err)
	t.Cleanup(in.Close)
	return in
}

func waiting(t *testing.T, b *bench) uint64 {
	t.Helper()
	stream, err := b.admin.Stream(b.ctx, events.InboxStream)
	require.NoError(t, err)
	return stream.CachedInfo().State.Msgs
}

func TestClaimIsSettledOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	in := openInbox(t, b)
	subject := events.ProposedSubject("acme", "shell")
	require.Zero(t, claim(t, b, subject, "one"))

	c, err := in.Next(b.ctx)
	require.NoError(t, err)
	require.Equal(t, "acme", c.Organisation)
	require.Equal(t, "shell", c.Producer)
	require.Equal(t, subject, c.Subject)
	require.Equal(t, "one", string(c.Body))
	require.EqualValues(t, 1, c.Sequence)
	require.Equal(t, 1, c.Delivered)
	require.WithinDuration(t, time.Now(), c.Received, patience)

	require.NoError(t, c.Retry(time.Millisecond))
	c, err = in.Next(b.ctx)
	require.NoError(t, err)
	require.Equal(t, 2, c.Delivered)
	require.NoError(t, c.Ack(b.ctx))
	require.Zero(t, waiting(t, b))

	require.Zero(t, claim(t, b, subject, "two"))
	c, err = in.Next(b.ctx)
	require.NoError(t, err)
	require.NoError(t, c.Refuse())
	require.Error(t, c.Ack(b.ctx), "settled already")
	require.NoError(t, b.conn.Flush())
	require.Zero(t, claim(t, b, subject, "three"))
	c, err = in.Next(b.ctx)
	require.NoError(t, err)
	require.Equal(t, "three", string(c.Body))
	require.NoError(t, c.Ack(b.ctx))
	require.Zero(t, waiting(t, b), "the refused one is gone too")
}

func TestFullInboxAnswersTheProducer(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{InboxMaxPerProducer: 3})
	require.NoError(t, b.log.CreateInbox(b.ctx))
	for i := range 3 {
		require.Zero(t, claim(t, b, events.ProposedSubject("acme", "loud"), fmt.Sprint(i)))
	}
	require.NotZero(t, claim(t, b, events.ProposedSubject("acme", "loud"), "too much"))
	require.Zero(t, claim(t, b, events.ProposedSubject("acme", "quiet"), "x"), "another producer isn't kept out")
	require.EqualValues(t, 4, waiting(t, b))
}

func TestUnfitSubjectBringsNoIDs(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	in := openInbox(t, b)
	for _, subject := range []string{"iris.in.ACME.shell.memory.proposed", "iris.in.org.shell.memory.proposed", "iris.in.acme.a\u202eb.memory.proposed"} {
		require.Zero(t, claim(t, b, subject, "x"))
		c, err := in.Next(b.ctx)
		require.NoError(t, err)
		require.Empty(t, c.Organisation+c.Producer, subject)
		require.NoError(t, c.Refuse())
	}
}

func TestClaimsLiveThroughARestart(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	in := openInbox(t, b)
	for round := range 2 {
		next := make(chan log.Claim, 1)
		go func() {
			c, err := in.Next(b.ctx)
			if err != nil {
				t.Errorf("next in round %d: %v", round, err)
			}
			next <- c
		}()
		b.broker.restart(t, b.conn)
		body := fmt.Sprint(round)
		require.Zero(t, claim(t, b, events.ProposedSubject("acme", "shell"), body))
		c := <-next
		require.Equal(t, body, string(c.Body))
		require.NoError(t, c.Ack(b.ctx))
	}
}

func TestClaimsWithoutAnInbox(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	_, err := b.log.Claims(b.ctx, "intake")
	require.ErrorIs(t, err, log.ErrMissingStream)
}
