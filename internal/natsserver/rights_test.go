package natsserver

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"iris.example/iris/deploy"
)

func startHere(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context(), Config{StoreDir: t.TempDir(), KeyDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() {
		s.nats.Shutdown()
		<-s.Done()
	})
	return s
}

func TestTheStoreIsSyncedAlways(t *testing.T) {
	t.Parallel()
	require.True(t, startHere(t).nats.JetStreamConfig().SyncAlways)
}

// What no credential may send is written twice: here, and for clusters in deploy/nats. Core lacks all of it, a provisioner all but
// making and updating a stream.
func TestTheClusterFreezesTheSame(t *testing.T) {
	t.Parallel()
	for _, subject := range frozen {
		require.Equal(t, 2, strings.Count(deploy.ClusterConf(), `"`+subject+`"`), subject)
	}
	for _, provisioners := range []string{streamUpdate, "$JS.API.STREAM.CREATE.>"} {
		require.Equal(t, 1, strings.Count(deploy.ClusterConf(), `"`+provisioners+`"`), provisioners)
	}
	for _, crossing := range []string{allInboxes, allOutcomes} {
		require.Equal(t, 2, strings.Count(deploy.ClusterConf(), `"`+crossing+`"`), "exported and imported: %s", crossing)
	}
}

func TestCoreComesFromInsideTheProcessOnly(t *testing.T) {
	t.Parallel()
	s := startHere(t)
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := user.PublicKey()
	require.NoError(t, err)
	signed, err := signUser(coreClaims(public), s.keys.iris)
	require.NoError(t, err)
	_, err = nats.Connect(s.URL(), nats.UserJWT(func() (string, error) { return signed, nil }, user.Sign))
	require.ErrorIs(t, err, nats.ErrAuthorization)

	_, err = nats.Connect(s.URL())
	require.ErrorIs(t, err, nats.ErrAuthorization)
}

func TestALogLineAboutAClientHoldsNothingItChose(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`127.0.0.1:4 - cid:7 - "v1:go:Anna" - Publish Violation - Subject "a.secret"`: "client 7: Publish Violation",
		`127.0.0.1:4 - cid:8 - Something about secret`:                                "client 8: error",
		`JetStream store is full`:                                                     "JetStream store is full",
	} {
		require.Equal(t, want, line("%s", []any{in}))
	}
}
