package log_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/events/log/logtest"
	"iris.example/iris/internal/natsserver/natscluster"
)

func clustered(t *testing.T, c *natscluster.Cluster) (*log.JetStream, *nats.Conn) {
	t.Helper()
	conn := c.Connect(t)
	l, err := log.New(conn, log.Config{Replicas: 3})
	require.NoError(t, err)
	require.True(t, l.Replicated())
	return l, conn
}

// founder makes streams, which no running process has the right to.
func founder(t *testing.T, c *natscluster.Cluster) *log.JetStream {
	t.Helper()
	l, err := log.New(c.ConnectProvisioner(t), log.Config{Replicas: 3})
	require.NoError(t, err)
	return l
}

// founding is a log whose organisations somebody else founds.
type founding struct {
	log.Log
	founder *log.JetStream
}

func (f founding) CreateOrganisation(ctx context.Context, org string) error {
	return f.founder.CreateOrganisation(ctx, org)
}

// The rules that hold on one node hold on three, with the rights that Iris has there.
func TestCluster(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) logtest.Backend {
		c := natscluster.Start(t, natscluster.Config{})
		b := logtest.Backend{Long: 3000}
		for node := range 3 {
			l, err := log.New(c.ConnectTo(t, node), log.Config{Replicas: 3})
			require.NoError(t, err)
			b.Others = append(b.Others, l)
		}
		// What waits together goes together, beside two that know nothing of it.
		b.Log = founding{log.NewGrouped(b.Others[0].(*log.JetStream)), founder(t, c)}
		return b
	})
}

// The consumer of a follower lives on one node. When that goes, or the leader does, the follower goes on after what it returned.
// A process that was told of one replica is connected to a cluster, whose streams may have been given more since: the leader is asked.
func TestAClusterIsNoSingleNode(t *testing.T) {
	t.Parallel()
	c := natscluster.Start(t, natscluster.Config{})
	for _, replicas := range []int{1, 3} {
		l, err := log.New(c.Connect(t), log.Config{Replicas: replicas})
		require.NoError(t, err)
		require.False(t, l.OnOneNode())
	}
	require.True(t, embedded(t).OnOneNode())
	conn := setup(t, log.Config{}).conn
	l, err := log.New(conn, log.Config{Replicas: 3})
	require.NoError(t, err)
	require.False(t, l.OnOneNode(), "as it was told")
}

func TestFollowerLivesThroughTheLossOfALeader(t *testing.T) {
	t.Parallel()
	c := natscluster.Start(t, natscluster.Config{})
	l, _ := clustered(t, c)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	require.NoError(t, founder(t, c).CreateOrganisation(ctx, "acme"))
	w := &writer{log: l, member: member()}
	f, err := l.Follow(ctx, "IRIS_ACME", 0)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	read := uint64(0)
	for round := range 2 {
		require.NoError(t, w.write(ctx, fmt.Sprint("before ", round)))
		leader := c.Leader(t, "IRIS_ACME")
		c.StopNode(leader)
		require.NoError(t, w.write(ctx, fmt.Sprint("without ", round)))
		for read < w.head {
			got, err := f.Next(ctx, 10)
			require.NoError(t, err)
			for _, m := range got {
				require.Equal(t, read+1, m.Sequence)
				read = m.Sequence
			}
		}
		c.StartNode(t, leader)
	}
}

// A stream's first leader may be longer in coming than a request waits: whoever founds asks again, and finds what was made.
func TestFoundingOutlastsAnElection(t *testing.T) {
	t.Parallel()
	c := natscluster.Start(t, natscluster.Config{})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	hurried, err := log.New(c.ConnectProvisioner(t), log.Config{Replicas: 3, ReadTimeout: 20 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, hurried.CreateOrganisation(ctx, "acme"))
	require.NoError(t, founder(t, c).OpenOrganisation(ctx, "acme"))
}

// Leaders step down and nodes go while many write: what was acknowledged is there once, in its order, and what wasn't is there
// once or not at all.
func TestLeaderChangesLoseNothing(t *testing.T) {
	t.Parallel()
	const writers = 8
	c := natscluster.Start(t, natscluster.Config{})
	l, conn := clustered(t, c)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	require.NoError(t, founder(t, c).CreateOrganisation(ctx, "acme"))

	writing, stop := context.WithCancel(ctx)
	all := make([]*writer, writers)
	var group sync.WaitGroup
	for i := range all {
		own, _ := clustered(t, c)
		all[i] = &writer{log: own, member: member()}
		group.Go(func() {
			for n := 0; writing.Err() == nil; n++ {
				if err := all[i].write(ctx, fmt.Sprint(n)); err != nil {
					t.Errorf("writer %d: %v", i, err)
					return
				}
			}
		})
	}
	for range 4 {
		leader := c.Leader(t, "IRIS_ACME")
		_, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN.IRIS_ACME", nil)
		require.NoError(t, err)
		require.NotEqual(t, leader, elected(t, c, leader))
	}
	for range 2 {
		leader := c.Leader(t, "IRIS_ACME")
		c.StopNode(leader)
		elected(t, c, leader)
		c.StartNode(t, leader)
	}
	stop()
	group.Wait()
	c.Current(t, "IRIS_ACME")

	stored := uint64(0)
	for _, w := range all {
		head, err := l.Head(ctx, "acme", w.member)
		require.NoError(t, err)
		messages, err := l.Load(ctx, "acme", w.member, 0, head)
		require.NoError(t, err)
		require.NotEmpty(t, messages)
		require.Len(t, messages, len(w.wrote), "nothing twice, nothing lost")
		for n, m := range messages {
			require.Equal(t, fmt.Sprint(n), string(m.Body))
			require.Equal(t, w.wrote[n], m.Sequence)
		}
		stored += uint64(len(messages))
	}
	last, err := l.Last(ctx, "IRIS_ACME")
	require.NoError(t, err)
	require.Equal(t, stored, last)
	c.Leader(t, "IRIS_ACCESS_ACME") // nodes went under this one, too
	c.Current(t, "IRIS_ACCESS_ACME")
	require.NoError(t, l.OpenOrganisation(ctx, "acme"))
}

// elected waits for a leader other than the one before.
func elected(t *testing.T, c *natscluster.Cluster, before int) int {
	t.Helper()
	for {
		if leader := c.Leader(t, "IRIS_ACME"); leader != before {
			return leader
		}
	}
}

// writer appends to one member and resolves what it isn't told, as the runner does: it reads on from the head it expected.
type writer struct {
	log    *log.JetStream
	member events.Aggregate
	head   uint64
	wrote  []uint64
}

func (w *writer) write(ctx context.Context, body string) error {
	for {
		sequence, err := w.log.Append(ctx, "acme", w.member, w.head, []byte(body))
		switch {
		case err == nil:
			w.head, w.wrote = sequence, append(w.wrote, sequence)
			return nil
		case errors.Is(err, log.ErrConflict), errors.Is(err, log.ErrAmbiguous), errors.Is(err, log.ErrUnavailable):
		default:
			return err
		}
		if done, err := w.recorded(ctx, body); done || err != nil {
			return err
		}
	}
}

func (w *writer) recorded(ctx context.Context, body string) (bool, error) {
	for ctx.Err() == nil {
		head, err := w.log.Head(ctx, "acme", w.member)
		if errors.Is(err, log.ErrUnavailable) {
			continue
		}
		if err != nil {
			return false, err
		}
		if head == w.head {
			return false, nil
		}
		found, err := w.log.Load(ctx, "acme", w.member, w.head, head)
		if errors.Is(err, log.ErrUnavailable) {
			continue
		}
		if err != nil {
			return false, err
		}
		if len(found) != 1 || string(found[0].Body) != body {
			return false, fmt.Errorf("%d foreign commits", len(found))
		}
		w.head, w.wrote = head, append(w.wrote, head)
		return true, nil
	}
	return false, ctx.Err()
}
