package log_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/events/log/logtest"
	"iris.example/iris/internal/natsserver"
)

// On the server that Iris embeds, with the rights that its process has; straight, and with appends that gather.
func TestJetStream(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) logtest.Backend { return logtest.Backend{Log: embedded(t)} })
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) logtest.Backend { return logtest.Backend{Log: log.NewGrouped(embedded(t))} })
}

func embedded(t *testing.T) *log.JetStream {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	s, err := natsserver.Start(ctx, natsserver.Config{
		StoreDir: filepath.Join(dir, "nats"), KeyDir: filepath.Join(dir, "keys"), Port: natsserver.NoPort,
		UnsafeNoSync: true, // tens of thousands of appends; the benchmarks sync
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	conn, err := s.Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	l, err := log.New(conn, log.Config{})
	require.NoError(t, err)
	return l
}

func TestFollowerLivesThroughARestart(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	logtest.RunRestart(t, logtest.Backend{Log: b.log}, func() { b.broker.restart(t, b.conn) })
}

func member() events.Aggregate { return events.Member(events.ID(uuid.NewString())) }

func found(t *testing.T, b *bench, org string, commits int) (a events.Aggregate, head uint64) {
	t.Helper()
	require.NoError(t, b.log.CreateOrganisation(b.ctx, org))
	a = member()
	for i := range commits {
		var err error
		head, err = b.log.Append(b.ctx, org, a, head, fmt.Append(nil, i))
		require.NoError(t, err)
	}
	return a, head
}

func TestStreamsAreWhatTheSpecSays(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{AccessMaxAge: 200 * 24 * time.Hour})
	found(t, b, "acme", 0)
	require.NoError(t, b.log.CreateInbox(b.ctx))
	for name, subjects := range map[string]string{"IRIS_ACME": "iris.org.acme.>", "IRIS_ACCESS_ACME": "iris.access.acme.>"} {
		stream, err := b.admin.Stream(b.ctx, name)
		require.NoError(t, err)
		config := stream.CachedInfo().Config
		require.Equal(t, []string{subjects}, config.Subjects)
		require.Equal(t, jetstream.LimitsPolicy, config.Retention)
		require.Equal(t, jetstream.DiscardNew, config.Discard)
		require.Equal(t, jetstream.FileStorage, config.Storage)
		require.EqualValues(t, []int64{-1, -1, -1}, []int64{config.MaxMsgs, config.MaxBytes, config.MaxMsgsPerSubject})
		require.EqualValues(t, 256<<10, config.MaxMsgSize)
		require.True(t, config.DenyDelete && config.DenyPurge && config.AllowDirect && config.AllowAtomicPublish)
		require.False(t, config.AllowMsgTTL || config.AllowRollup || config.AllowMsgSchedules || config.AllowMsgCounter)
		age := time.Duration(0)
		if name == "IRIS_ACCESS_ACME" {
			age = 200 * 24 * time.Hour
		}
		require.Equal(t, age, config.MaxAge)
	}
	stream, err := b.admin.Stream(b.ctx, "IRIS_INBOX")
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	require.Equal(t, jetstream.WorkQueuePolicy, config.Retention)
	require.Equal(t, jetstream.DiscardNew, config.Discard)
	require.True(t, config.DiscardNewPerSubject)
	require.Equal(t, 24*time.Hour, config.MaxAge)
	require.Equal(t, 100*time.Millisecond, config.Duplicates)
	require.Positive(t, config.MaxBytes)
	require.Positive(t, config.MaxMsgsPerSubject)
}

func TestConfigIsRefused(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]log.Config{
		"two replicas":       {Replicas: 2},
		"no time to write":   {WriteTimeout: -1},
		"no time to read":    {ReadTimeout: -1},
		"access for a month": {AccessMaxAge: 30 * 24 * time.Hour},
		"a tiny inbox":       {InboxMaxBytes: 1},
		"no claims":          {InboxMaxPerProducer: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := log.New(nil, config)
			require.Error(t, err)
		})
	}
}

func TestNothingIsTakenBack(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	a, head := found(t, b, "acme", 3)
	stream, err := b.admin.Stream(b.ctx, "IRIS_ACME")
	require.NoError(t, err)
	require.Error(t, stream.DeleteMsg(b.ctx, 1))
	require.Error(t, stream.SecureDeleteMsg(b.ctx, 2))
	require.Error(t, stream.Purge(b.ctx))
	require.Error(t, stream.Purge(b.ctx, jetstream.WithPurgeSubject(events.Subject("acme", a))))
	config := stream.CachedInfo().Config
	config.DenyDelete = false
	_, err = b.admin.UpdateStream(b.ctx, config)
	require.Error(t, err)

	for _, header := range []nats.Header{{"Nats-Rollup": {"sub"}}, {"Nats-Rollup": {"all"}}, {"Nats-TTL": {"1s"}}} {
		_, err := b.conn.RequestMsgWithContext(b.ctx, &nats.Msg{Subject: events.Subject("acme", a), Data: []byte("x"), Header: header})
		require.NoError(t, err, "the refusal is in the answer")
	}
	all, err := b.log.Load(b.ctx, "acme", a, 0, head)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, head, mustHead(t, b, a))
}

func mustHead(t *testing.T, b *bench, a events.Aggregate) uint64 {
	t.Helper()
	head, err := b.log.Head(b.ctx, "acme", a)
	require.NoError(t, err)
	return head
}

func TestDriftIsNamedAndLeftAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	for key, change := range map[string]func(*jetstream.StreamConfig){
		"max_age":              func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"max_msgs":             func(c *jetstream.StreamConfig) { c.MaxMsgs = 3 },
		"max_bytes":            func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 },
		"max_msgs_per_subject": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 },
		"max_msg_size":         func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1 << 20 },
		"discard":              func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld },
		"allow_direct":         func(c *jetstream.StreamConfig) { c.AllowDirect = false },
		"allow_atomic":         func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false },
		"allow_msg_ttl":        func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true },
		"no_ack":               func(c *jetstream.StreamConfig) { c.NoAck = true },
		"republish":            func(c *jetstream.StreamConfig) { c.RePublish = &jetstream.RePublish{Source: ">", Destination: "spy.>"} },
		"subject_transform": func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: "iris.org.*.>", Destination: "x.>"}
		},
		"subjects": func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "more."+c.Name) },
		"metadata": func(c *jetstream.StreamConfig) { c.Metadata = map[string]string{"a": "b"} },
	} {
		for _, prefix := range []string{"IRIS_", "IRIS_ACCESS_"} {
			t.Run(prefix+key, func(t *testing.T) {
				t.Parallel()
				org := "o-" + uuid.NewString()
				require.NoError(t, b.log.CreateOrganisation(b.ctx, org))
				stream, err := b.admin.Stream(b.ctx, prefix+strings.ToUpper(org))
				require.NoError(t, err)
				config := stream.CachedInfo().Config
				change(&config)
				_, err = b.admin.UpdateStream(b.ctx, config)
				require.NoError(t, err)
				before, err := stream.Info(b.ctx)
				require.NoError(t, err)

				for act, err := range map[string]error{
					"open": b.log.OpenOrganisation(b.ctx, org), "create": b.log.CreateOrganisation(b.ctx, org),
				} {
					require.ErrorIs(t, err, log.ErrDrift, act)
					require.ErrorContains(t, err, key, act)
				}
				after, err := stream.Info(b.ctx)
				require.NoError(t, err)
				require.Equal(t, before.Config, after.Config)
			})
		}
	}
}

// A stream that somebody else made under the name isn't taken for ours.
func TestStreamMadeOtherwiseIsDrift(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	_, err := b.admin.CreateStream(b.ctx, jetstream.StreamConfig{Name: "IRIS_ACME", Subjects: []string{"iris.org.acme.>"}, AllowRollup: true})
	require.NoError(t, err)
	err = b.log.CreateOrganisation(b.ctx, "acme")
	require.ErrorIs(t, err, log.ErrDrift)
	for _, key := range []string{"deny_delete", "deny_purge", "allow_rollup_hdrs", "max_msg_size", "allow_direct"} {
		require.ErrorContains(t, err, key)
	}
	_, err = b.admin.Stream(b.ctx, "IRIS_ACCESS_ACME")
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
}

func TestInboxDrifts(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	require.NoError(t, b.log.CreateInbox(b.ctx))
	require.NoError(t, b.log.CreateInbox(b.ctx))
	other, err := log.New(b.conn, log.Config{InboxMaxPerProducer: 7})
	require.NoError(t, err)
	err = other.CreateInbox(b.ctx)
	require.ErrorIs(t, err, log.ErrDrift)
	require.ErrorContains(t, err, "max_msgs_per_subject")
}

// A wrong at-rest key shows as a stream that isn't there: making a new one would begin a second history.
func TestLostStreamStaysLost(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	a, head := found(t, b, "acme", 3)
	f, err := b.log.Follow(b.ctx, "IRIS_ACME", 0)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	got, err := f.Next(b.ctx, 10)
	require.NoError(t, err)
	require.Len(t, got, 3)

	require.NoError(t, b.admin.DeleteStream(b.ctx, "IRIS_ACME"))
	_, err = f.Next(b.ctx, 10)
	require.ErrorIs(t, err, log.ErrMissingStream)
	_, err = b.log.Append(b.ctx, "acme", a, head, []byte("x"))
	require.ErrorIs(t, err, log.ErrMissingStream)
	require.ErrorIs(t, b.log.OpenOrganisation(b.ctx, "acme"), log.ErrMissingStream)
	_, err = b.admin.Stream(b.ctx, "IRIS_ACME")
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
}

// A stream that comes back shorter (a lost tail, another history) ends a follower instead of leaving it waiting.
func TestShortenedStreamEndsAFollower(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	found(t, b, "acme", 3)
	f, err := b.log.Follow(b.ctx, "IRIS_ACME", 3)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	require.NoError(t, b.admin.DeleteStream(b.ctx, "IRIS_ACME"))
	require.NoError(t, b.log.CreateOrganisation(b.ctx, "acme"))
	_, err = f.Next(b.ctx, 10)
	require.ErrorIs(t, err, log.ErrDrift)
}

// The consumer's own count has no gaps. What went astray (here: taken by another) comes again.
func TestFollowerMissesNothingThatWentAstray(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	a, head := found(t, b, "acme", 1)
	f, err := b.log.Follow(b.ctx, "IRIS_ACME", 0)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	stream, err := b.admin.Stream(b.ctx, "IRIS_ACME")
	require.NoError(t, err)
	for name := range stream.ConsumerNames(b.ctx).Name() {
		taken, err := b.conn.RequestWithContext(b.ctx, "$JS.API.CONSUMER.MSG.NEXT.IRIS_ACME."+name, []byte(`{"batch":1,"no_wait":true}`))
		require.NoError(t, err)
		require.Equal(t, "0", string(taken.Data))
	}
	_, err = b.log.Append(b.ctx, "acme", a, head, []byte("1"))
	require.NoError(t, err)
	for i := range 2 {
		got, err := f.Next(b.ctx, 1)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), string(got[0].Body))
	}
}

func TestClosedFollowerLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	found(t, b, "acme", 3)
	before := b.conn.NumSubscriptions()
	for after := range uint64(3) {
		f, err := b.log.Follow(b.ctx, "IRIS_ACME", after)
		require.NoError(t, err)
		_, err = f.Next(b.ctx, 1)
		require.NoError(t, err)
		f.Close()
	}
	require.Equal(t, before, b.conn.NumSubscriptions())
}

func TestClosedConnectionEndsWhoeverWaits(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	found(t, b, "acme", 0)
	in := openInbox(t, b)
	f, err := b.log.Follow(b.ctx, "IRIS_ACME", 0)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	failed := make(chan error, 2)
	go func() { _, err := f.Next(b.ctx, 1); failed <- err }()
	go func() { _, err := in.Next(b.ctx); failed <- err }()
	b.conn.Close()
	for range 2 {
		require.Error(t, <-failed)
	}
	require.NoError(t, b.ctx.Err(), "they didn't wait for their time to end")
}

func TestUnavailableIsNotAmbiguous(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	a, head := found(t, b, "acme", 1)
	status := b.conn.StatusChanged(nats.RECONNECTING)
	b.broker.stop()
	await(t, status, nats.RECONNECTING)
	_, err := b.log.Append(b.ctx, "acme", a, head, []byte("x"))
	require.ErrorIs(t, err, log.ErrUnavailable)
	require.NotErrorIs(t, err, log.ErrAmbiguous)
	_, err = b.log.Head(b.ctx, "acme", a)
	require.ErrorIs(t, err, log.ErrUnavailable)
	_, err = b.log.Load(b.ctx, "acme", a, 0, head)
	require.ErrorIs(t, err, log.ErrUnavailable)

	b.conn.Close()
	_, err = b.log.Append(b.ctx, "acme", a, head, []byte("x"))
	require.ErrorIs(t, err, log.ErrUnavailable)
}

// Nothing is sent on a closed connection, so a refusal that still comes was made before sending.
func TestRefusalsComeBeforeSending(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	b.conn.Close()
	_, err := b.log.Append(b.ctx, "acme", member(), 0, []byte("x"))
	require.ErrorIs(t, err, log.ErrUnavailable)
	for _, org := range logtest.BadOrganisations() {
		_, err := b.log.Append(b.ctx, org, member(), 0, []byte("x"))
		require.ErrorIs(t, err, log.ErrRefused, "%q", org)
	}
	for _, a := range logtest.BadAggregates() {
		_, err := b.log.Append(b.ctx, "acme", a, 0, []byte("x"))
		require.ErrorIs(t, err, log.ErrRefused, "%v", a)
	}
	_, err = b.log.Append(b.ctx, "acme", member(), 0, make([]byte, log.MaxBody+1))
	require.ErrorIs(t, err, log.ErrTooLarge)
	_, err = b.log.Claims(b.ctx, "in.take")
	require.ErrorIs(t, err, log.ErrRefused)
}

// A real lost answer: the stream stores and doesn't acknowledge.
func TestStoredWithoutAnAnswerIsAmbiguous(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	a, head := found(t, b, "acme", 1)
	update(t, b, "IRIS_ACME", func(c *jetstream.StreamConfig) { c.NoAck = true })
	hurried, err := log.New(b.conn, log.Config{WriteTimeout: 100 * time.Millisecond})
	require.NoError(t, err)
	_, err = hurried.Append(b.ctx, "acme", a, head, []byte("x"))
	require.ErrorIs(t, err, log.ErrAmbiguous)
	after := mustHead(t, b, a)
	for after == head { // it may still be on its way; b.ctx ends that
		after = mustHead(t, b, a)
	}
	all, err := b.log.Load(b.ctx, "acme", a, head, after)
	require.NoError(t, err)
	require.Equal(t, "x", string(all[0].Body))
}

func update(t *testing.T, b *bench, name string, change func(*jetstream.StreamConfig)) {
	t.Helper()
	stream, err := b.admin.Stream(b.ctx, name)
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	change(&config)
	_, err = b.admin.UpdateStream(b.ctx, config)
	require.NoError(t, err)
}

// Batches, not messages, cost a round trip.
func TestLoadAsksFewTimes(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	a, head := found(t, b, "acme", 2500)
	before := b.conn.Stats().OutMsgs
	got, err := b.log.Load(b.ctx, "acme", a, 0, head)
	require.NoError(t, err)
	require.Len(t, got, 2500)
	require.LessOrEqual(t, b.conn.Stats().OutMsgs-before, uint64(3))
}

func TestLoadTurnsToTheLeader(t *testing.T) {
	t.Parallel()
	for name, replica := range map[string]func(t *testing.T, b *bench, a events.Aggregate){
		"no replica answers": func(*testing.T, *bench, events.Aggregate) {},
		"a replica has nothing yet": func(t *testing.T, b *bench, a events.Aggregate) {
			lag(t, b, a, 0)
		},
		"a replica has the first three": func(t *testing.T, b *bench, a events.Aggregate) {
			lag(t, b, a, 3)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, log.Config{})
			a, head := found(t, b, "acme", 8)
			update(t, b, "IRIS_ACME", func(c *jetstream.StreamConfig) { c.AllowDirect = false })
			replica(t, b, a)
			got, err := b.log.Load(b.ctx, "acme", a, 1, head)
			require.NoError(t, err)
			require.Len(t, got, 7)
			for i, m := range got {
				require.EqualValues(t, i+2, m.Sequence)
				require.Equal(t, fmt.Sprint(i+1), string(m.Body))
			}
			_, err = b.log.Load(b.ctx, "acme", a, 0, head+1)
			require.ErrorIs(t, err, log.ErrUnavailable)
		})
	}
}

// On one node a load to the head is one trip. Whoever else answers it, as a mirror of the stream may, isn't believed: the leader is asked.
func TestToHeadTurnsToTheLeader(t *testing.T) {
	t.Parallel()
	b := setup(t, log.Config{})
	a, head := found(t, b, "acme", 8)
	to := func(after uint64) (got []log.Message, trips uint64) {
		t.Helper()
		before := b.conn.Stats().OutMsgs
		got, err := b.log.ToHead(b.ctx, "acme", a, func() uint64 { return after })
		require.NoError(t, err)
		return got, b.conn.Stats().OutMsgs - before
	}
	for after := range head {
		got, trips := to(after)
		require.Len(t, got, int(head-after))
		require.EqualValues(t, 1, trips)
	}
	update(t, b, "IRIS_ACME", func(c *jetstream.StreamConfig) { c.AllowDirect = false })
	got, _ := to(0)
	require.Len(t, got, 8, "nobody answers")
	var stream, pending, last string
	_, err := b.conn.Subscribe("$JS.API.DIRECT.GET.IRIS_ACME", func(request *nats.Msg) {
		asked := struct {
			Sequence int `json:"seq"`
		}{}
		decode(t, request.Data, &asked)
		if asked.Sequence > 3 {
			answer(t, request, nats.Header{"Status": {"404"}}, nil)
			return
		}
		for sequence := asked.Sequence; sequence <= 3; sequence++ {
			answer(t, request, nats.Header{
				"Nats-Stream": {stream}, "Nats-Subject": {events.Subject("acme", a)}, "Nats-Sequence": {fmt.Sprint(sequence)},
				"Nats-Time-Stamp": {time.Now().UTC().Format(time.RFC3339Nano)},
			}, fmt.Append(nil, sequence-1))
		}
		answer(t, request, nats.Header{"Status": {"204"}, "Nats-Num-Pending": {pending}, "Nats-Last-Sequence": {last}}, nil)
	})
	require.NoError(t, err)
	require.NoError(t, b.conn.Flush())
	for _, said := range [][]string{{"MIRROR", "0", "3"}, {"IRIS_ACME", "5", "3"}, {"IRIS_ACME", "0", "8"}, {"IRIS_ACME", "", ""}} {
		stream, pending, last = said[0], said[1], said[2]
		got, _ := to(0)
		require.Len(t, got, 8, said)
		require.Equal(t, head, got[7].Sequence)
	}
	stream, pending, last = "IRIS_ACME", "0", "3"
	got, _ = to(0)
	require.Len(t, got, 3, "this one can't be told from the stream itself")
}

// lag answers direct gets of a stream that offers none, as a replica would that has only the first n messages.
func lag(t *testing.T, b *bench, a events.Aggregate, n uint64) {
	t.Helper()
	_, err := b.conn.Subscribe("$JS.API.DIRECT.GET.IRIS_ACME", func(request *nats.Msg) {
		asked := struct {
			Sequence uint64 `json:"seq"`
		}{}
		decode(t, request.Data, &asked)
		if asked.Sequence > n {
			answer(t, request, nats.Header{"Status": {"404"}, "Description": {"Message Not Found"}}, nil)
			return
		}
		for sequence := asked.Sequence; sequence <= n; sequence++ {
			answer(t, request, nats.Header{
				"Nats-Stream": {"IRIS_ACME"}, "Nats-Subject": {events.Subject("acme", a)}, "Nats-Sequence": {fmt.Sprint(sequence)},
				"Nats-Time-Stamp": {time.Now().UTC().Format(time.RFC3339Nano)},
			}, fmt.Append(nil, sequence-1))
		}
		answer(t, request, nats.Header{"Status": {"204"}, "Description": {"EOB"}}, nil)
	})
	require.NoError(t, err)
	require.NoError(t, b.conn.Flush())
}

func answer(t *testing.T, request *nats.Msg, header nats.Header, data []byte) {
	if err := request.RespondMsg(&nats.Msg{Header: header, Data: data}); err != nil {
		t.Errorf("answer: %v", err)
	}
}
