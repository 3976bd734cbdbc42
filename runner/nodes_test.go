package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/natsserver/natscluster"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/runner"
)

// nodes is the same log seen by three processes: on one node, and on three, each by another.
func nodes(t *testing.T) map[string][]*eventlog.JetStream {
	t.Helper()
	cluster, single := natscluster.Start(t, natscluster.Config{}), testkit.NATS(t)
	founder, err := eventlog.New(cluster.ConnectProvisioner(t), eventlog.Config{Replicas: 3})
	require.NoError(t, err)
	require.NoError(t, founder.CreateOrganisation(t.Context(), org))
	logs := map[string][]*eventlog.JetStream{}
	for node := range 3 {
		three, err := eventlog.New(cluster.ConnectTo(t, node), eventlog.Config{Replicas: 3})
		require.NoError(t, err)
		conn, err := single.Connect()
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		one, err := eventlog.New(conn, eventlog.Config{})
		require.NoError(t, err)
		if node == 0 {
			require.NoError(t, one.CreateOrganisation(t.Context(), org))
		}
		logs["three nodes"], logs["one node"] = append(logs["three nodes"], three), append(logs["one node"], one)
	}
	return logs
}

// One node answers a retry in one way and three in another (10071, 10164, a lost answer); what comes of it is the same: the
// command is carried out once, and whoever asks hears the same position and events.
func TestRetriesComeToTheSameOnOneNodeAndOnThree(t *testing.T) {
	t.Parallel()
	for name, logs := range nodes(t) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			t.Cleanup(cancel)
			b := setup()
			b.open(t, b.process(t, logs[0]))
			head := func() uint64 {
				head, err := logs[0].Head(ctx, org, events.Member(person))
				require.NoError(t, err)
				return head
			}

			for n, as := range []error{eventlog.ErrAmbiguous, eventlog.ErrConflict} {
				for _, fault := range []eventlog.Fault{eventlog.ErrorBefore, eventlog.ErrorAfter} {
					before := head()
					faulty := eventlog.NewFaulty(logs[0])
					faulty.FailNextWith(eventlog.OpAppend, fault, as)
					command := b.command(fmt.Sprint("lost", n, fault), words(fmt.Sprintf("Likes the number %d%d.", n, fault)))
					first, err := b.process(t, faulty).Run(ctx, command)
					require.NoError(t, err)
					require.Equal(t, before+1, first.Position)
					again, err := b.process(t, logs[1]).Run(ctx, command)
					require.NoError(t, err)
					require.True(t, again.Repeated)
					require.Equal(t, first.Position, again.Position)
					require.Empty(t, cmp.Diff(first.Events, again.Events, cmpopts.IgnoreUnexported(events.Recorded{})))
				}
			}

			// The same command by 24 callers of three processes at once, round after round.
			processes := []*members{b.process(t, logs[0]), b.process(t, logs[1]), b.process(t, logs[2])}
			for round := range 10 {
				before := head()
				command := b.command(fmt.Sprint("at once ", round), words(fmt.Sprintf("Counts to the number %d.", round)))
				var group sync.WaitGroup
				for caller := range 24 {
					group.Go(func() {
						for {
							done, err := processes[caller%3].Run(ctx, command)
							if errors.Is(err, runner.ErrOutcomeUnknown) {
								continue // said so, and asked again with the same key
							}
							if err != nil || done.Position != before+1 {
								t.Errorf("round %d: at %d, expected %d: %v", round, done.Position, before+1, err)
							}
							return
						}
					})
				}
				group.Wait()
				require.Equal(t, before+1, head(), "once")
			}
		})
	}
}

// Snapshots beside a real broker, on one node and on three: what one process left behind, another goes on from, and all are the fold.
func TestSnapshotsOnOneNodeAndOnThree(t *testing.T) {
	t.Parallel()
	for name, logs := range nodes(t) {
		t.Run(name, func(t *testing.T) {
			b, s := setup(), shelve(t)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			t.Cleanup(cancel)
			look := func(node int, want ...runner.SnapshotResult) {
				t.Helper()
				r := b.keeping(t, logs[node], 0, s, s.observe)
				state, at := looked(t, r)
				r.Settle()
				require.Equal(t, want, s.since())
				whole, head := snapshot(t, b.process(t, logs[0]))
				require.Equal(t, head, at)
				require.Empty(t, cmp.Diff(whole, state, withoutTexts))
			}
			writer := b.process(t, logs[0])
			b.open(t, writer)
			say := func(n int) {
				_, err := writer.Run(ctx, b.command(fmt.Sprint("say ", n), words(fmt.Sprintf("Likes the number %d.", n))))
				require.NoError(t, err)
			}
			for n := range 4 {
				say(n)
			}
			look(1, runner.SnapshotSaved)
			look(2, runner.SnapshotUsed)
			for n := range 5 {
				say(4 + n)
				look(n%3, runner.SnapshotUsed)
			}
			s.exec(t, "UPDATE iris_snapshots.books SET position = position + 1")
			look(2, runner.SnapshotUnreadable, runner.SnapshotSaved)

			// Three processes write and keep at once, each through another node.
			var group sync.WaitGroup
			for node, log := range logs {
				r := b.keeping(t, log, 2, s, s.observe)
				for n := range 6 {
					group.Go(func() {
						command := b.command(fmt.Sprintf("race %d %d", node, n), words(fmt.Sprintf("Counts %d at node%d.", n, node)))
						for {
							_, err := r.Run(ctx, command)
							if errors.Is(err, runner.ErrOutcomeUnknown) {
								continue
							}
							if err != nil {
								t.Errorf("race at node %d: %v", node, err)
							}
							return
						}
					})
				}
			}
			group.Wait()
			whole, head := snapshot(t, b.process(t, logs[0]))
			require.Len(t, whole.Entries, 9+18)
			for _, log := range logs {
				state, at := snapshot(t, b.keeping(t, log, 2, s, s.observe))
				require.Equal(t, head, at)
				require.Empty(t, cmp.Diff(whole, state))
			}
		})
	}
}
