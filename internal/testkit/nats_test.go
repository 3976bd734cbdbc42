package testkit_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/testkit"
)

func TestEachTestHasAServerOfItsOwn(t *testing.T) {
	t.Parallel()
	for range 2 {
		conn, err := testkit.NATS(t).Connect()
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		js, err := jetstream.New(conn)
		require.NoError(t, err)
		_, err = js.Stream(t.Context(), "S")
		require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
		_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
		require.NoError(t, err)
		ack, err := js.Publish(t.Context(), "s.one", nil)
		require.NoError(t, err)
		require.Equal(t, uint64(1), ack.Sequence)
	}
}
