package runner_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/natsserver"
	"iris.example/iris/internal/natsserver/natscluster"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/runner"
	"iris.example/iris/vault"
)

// BenchmarkWriters: commits of many writers of one organisation, each with a book of its own, beside those of one in the same rounds, on
// one node and on the three of deploy/nats, all synced. What waits together is committed together; how much that brings is up to
// what the broker does for a batch, and is not the same on the two. An operation is a round.
func BenchmarkWriters(b *testing.B) {
	for _, shape := range []struct {
		name string
		log  func(*testing.B) *eventlog.JetStream
	}{{"one node", oneSynced}, {"three nodes", threeSynced}} {
		b.Run(shape.name, func(b *testing.B) {
			w := newWriters(b, shape.log(b))
			alone := w.books(b, 1)
			for _, n := range []int{32, 100} {
				many := w.books(b, n)
				b.Run(fmt.Sprint(n), func(b *testing.B) {
					var one, all time.Duration
					for b.Loop() {
						one += w.round(b, alone, 100)
						all += w.round(b, many, 1200/n)
					}
					single := float64(b.N*100) / one.Seconds()
					together := float64(b.N*n*(1200/n)) / all.Seconds()
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(single, "alone/s")
					b.ReportMetric(together, "together/s")
					b.ReportMetric(together/single, "ratio")
				})
			}
		})
	}
}

func oneSynced(b *testing.B) *eventlog.JetStream {
	dir := b.TempDir()
	s, err := natsserver.Start(b.Context(), natsserver.Config{StoreDir: filepath.Join(dir, "nats"), KeyDir: filepath.Join(dir, "keys"), Port: natsserver.NoPort})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Stop(context.Background())) })
	conn, err := s.Connect()
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	l, err := eventlog.New(conn, eventlog.Config{})
	require.NoError(b, err)
	require.NoError(b, l.CreateOrganisation(b.Context(), org))
	return l
}

func threeSynced(b *testing.B) *eventlog.JetStream {
	c := natscluster.Start(b, natscluster.Config{Sync: true})
	founder, err := eventlog.New(c.ConnectProvisioner(b), eventlog.Config{Replicas: 3})
	require.NoError(b, err)
	require.NoError(b, founder.CreateOrganisation(b.Context(), org))
	l, err := eventlog.New(c.Connect(b), eventlog.Config{Replicas: 3})
	require.NoError(b, err)
	return l
}

// writers is a process with the real vault.
type writers struct {
	*bench
	keys    *vault.Vault
	process *members
	sent    int
}

func newWriters(b *testing.B, l *eventlog.JetStream) *writers {
	db := testkit.Postgres(b)
	require.NoError(b, vault.Migrate(b.Context(), db.URL(db.Superuser())))
	master, err := vault.OpenMasterKey(filepath.Join(b.TempDir(), "master.key"))
	require.NoError(b, err)
	keys, err := vault.Open(b.Context(), vault.Config{URL: db.URL(vault.Role), Master: master})
	require.NoError(b, err)
	b.Cleanup(keys.Close)
	require.NoError(b, keys.EnsureOrganisation(b.Context(), org))
	c, err := contract()
	require.NoError(b, err)
	w := &writers{bench: setup(), keys: keys}
	w.process, err = runner.Members(runner.Config{
		Log: eventlog.NewGrouped(l), Keys: keys, Codec: events.Codec{Keys: keys, Contract: c}, Screen: screen(), Now: time.Now,
	})
	require.NoError(b, err)
	return w
}

// books are of members who consented, and in memory.
func (w *writers) books(b *testing.B, n int) (ids []events.ID) {
	for range n {
		id := events.ID(uuid.NewString())
		require.NoError(b, w.keys.EnsureMember(b.Context(), org, id))
		for _, c := range []member.Command{member.Register{}, member.Join{Program: "default"}, grant("data_processing"), grant("data_storage")} {
			require.NoError(b, w.run(id, 0, c))
		}
		ids = append(ids, id)
	}
	return ids
}

func (w *writers) run(id events.ID, n int, body member.Command) error {
	c := w.command(fmt.Sprint(id, n, fmt.Sprintf("%T%v", body, body)), body)
	c.Aggregate, c.Actor.ID = events.Member(id), string(id)
	_, err := w.process.Run(context.Background(), c)
	return err
}

// round lets each say so many things, all at once.
func (w *writers) round(b *testing.B, ids []events.ID, each int) time.Duration {
	w.sent += each
	began := time.Now()
	var group errgroup.Group
	for _, id := range ids {
		group.Go(func() error {
			for n := range each {
				if err := w.run(id, w.sent+n, words(fmt.Sprintf("Prefers metric units in table number %d.", w.sent+n))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, group.Wait())
	return time.Since(began)
}
