package natscluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/natsserver"
	"iris.example/iris/internal/natsserver/natscluster"
)

var acme = natsserver.Producer{Org: "acme", Name: "conversations"}

// The servers that run are what the file says, and the file says what the spec does.
func TestWhatTheConfigurationPromises(t *testing.T) {
	t.Parallel()
	c := natscluster.Start(t, natscluster.Config{Sync: true, Producers: []natsserver.Producer{acme, {Org: "acme", Name: "other"}}})
	for i := range 3 {
		require.True(t, c.Node(i).JetStreamConfig().SyncAlways, "synced before it is acknowledged")
	}
	_, err := nats.Connect(c.URLs(), nats.RootCAs(c.Authority()))
	require.ErrorIs(t, err, nats.ErrAuthorization, "nobody without a key")
	_, err = nats.Connect(c.URLs())
	require.Error(t, err, "nobody without trust in the authority")

	t.Run("what is recorded stays", func(t *testing.T) {
		conn := c.Connect(t)
		js, err := jetstream.New(conn)
		require.NoError(t, err)
		config := jetstream.StreamConfig{Name: "IRIS_ACME", Subjects: []string{"iris.org.acme.>"}, Replicas: 3}
		provisioner := c.ConnectProvisioner(t)
		admin, err := jetstream.New(provisioner)
		require.NoError(t, err)
		_, err = admin.CreateStream(t.Context(), config)
		require.NoError(t, err, "a provisioner makes a stream")
		stream, err := js.Stream(t.Context(), "IRIS_ACME")
		require.NoError(t, err)
		ack, err := js.Publish(t.Context(), "iris.org.acme.organisation", []byte("x"))
		require.NoError(t, err)
		changed := config
		changed.MaxMsgs = 1
		for name, act := range map[string]func(context.Context) error{
			"delete a stream":  func(ctx context.Context) error { return js.DeleteStream(ctx, "IRIS_ACME") },
			"purge a stream":   func(ctx context.Context) error { return stream.Purge(ctx) },
			"delete a message": func(ctx context.Context) error { return stream.DeleteMsg(ctx, ack.Sequence) },
			"make a stream": func(ctx context.Context) error {
				_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "IRIS_OTHER", Subjects: []string{"iris.org.other.>"}})
				return err
			},
			"change a stream": func(ctx context.Context) error { _, err := js.UpdateStream(ctx, changed); return err },
		} {
			refused(t, conn, name, act)
		}
		refused(t, provisioner, "delete a stream", func(ctx context.Context) error { return admin.DeleteStream(ctx, "IRIS_ACME") })
		_, err = admin.UpdateStream(t.Context(), changed)
		require.NoError(t, err, "a provisioner changes a configuration")
	})

	t.Run("producers keep apart", func(t *testing.T) {
		core := c.Connect(t)
		admin, err := jetstream.New(c.ConnectProvisioner(t))
		require.NoError(t, err)
		inbox, err := admin.CreateStream(t.Context(), jetstream.StreamConfig{Name: "IRIS_INBOX", Subjects: []string{"iris.in.*.*.memory.proposed"}, Replicas: 3})
		require.NoError(t, err)
		heard := make(chan error, 16)
		conn := c.ConnectProducer(t, acme, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { heard <- err }))

		reply, err := conn.RequestWithContext(t.Context(), acme.Subject(), []byte("claim"))
		require.NoError(t, err)
		require.Contains(t, string(reply.Data), `"stream":"IRIS_INBOX"`, "a claim is acknowledged")

		outcomes, err := conn.SubscribeSync(acme.Outcomes())
		require.NoError(t, err)
		require.NoError(t, conn.Flush())
		var outcome *nats.Msg
		for outcome == nil && t.Context().Err() == nil { // the other node may not know yet that somebody listens here
			require.NoError(t, core.Publish(acme.Outcomes(), []byte("kept")))
			outcome, _ = outcomes.NextMsg(100 * time.Millisecond)
		}
		require.Equal(t, "kept", string(outcome.Data))

		for _, subject := range []string{
			"iris.in.acme.other.memory.proposed", "iris.in.borealis.conversations.memory.proposed", "iris.org.acme.organisation", "$JS.API.STREAM.NAMES",
		} {
			require.NoError(t, conn.Publish(subject, []byte("x")))
			require.NoError(t, conn.Flush())
			require.ErrorIs(t, <-heard, nats.ErrPermissionViolation, subject)
		}
		for _, subject := range []string{">", "iris.out.acme.other", "_INBOX_acme_other.>"} {
			_, err := conn.SubscribeSync(subject)
			require.NoError(t, err)
			require.NoError(t, conn.Flush())
			require.ErrorIs(t, <-heard, nats.ErrPermissionViolation, subject)
		}

		// A "reply" into the ledger: the acknowledgement doesn't leave the account.
		written, err := core.SubscribeSync("iris.org.acme.>")
		require.NoError(t, err)
		require.NoError(t, core.Flush())
		require.NoError(t, conn.PublishRequest(acme.Subject(), "iris.org.acme.organisation", []byte("claim")))
		_, err = conn.RequestWithContext(t.Context(), acme.Subject(), []byte("after"))
		require.NoError(t, err)
		info, err := inbox.Info(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3, info.State.Msgs)
		require.NoError(t, core.Publish("iris.org.acme.mark", nil))
		first, err := written.NextMsgWithContext(t.Context())
		require.NoError(t, err)
		require.Equal(t, "iris.org.acme.mark", first.Subject)
	})
}

// refused: the server says so to the connection, and the caller hears nothing.
func refused(t *testing.T, conn *nats.Conn, name string, act func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.Error(t, act(ctx), name)
	require.NoError(t, conn.Flush())
	require.ErrorIs(t, conn.LastError(), nats.ErrPermissionViolation, name)
}

// A node goes and comes back on its address; the others carry on.
func TestANodeComesAndGoes(t *testing.T) {
	t.Parallel()
	c := natscluster.Start(t, natscluster.Config{})
	js, err := jetstream.New(c.ConnectProvisioner(t))
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "IRIS_ACME", Subjects: []string{"iris.org.acme.>"}, Replicas: 3})
	require.NoError(t, err)
	before := c.URLs()
	for range 2 {
		leader := c.Leader(t, "IRIS_ACME")
		c.StopNode(leader)
		require.Nil(t, c.Node(leader))
		require.NotEqual(t, leader, c.Leader(t, "IRIS_ACME"))
		c.StartNode(t, leader)
		c.Current(t, "IRIS_ACME")
	}
	require.Equal(t, before, c.URLs())
}
