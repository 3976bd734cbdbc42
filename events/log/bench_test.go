package log_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
)

const benchBody = 600

// The raw publish is what the broker can do at best, synced: Append should stay near it.
func BenchmarkAppendSynced(b *testing.B) {
	bench := setupOn(b, startBroker(b, true), log.Config{})
	require.NoError(b, bench.log.CreateOrganisation(b.Context(), "acme"))
	body := make([]byte, benchBody)
	b.Run("raw", func(b *testing.B) {
		subject := events.Subject("acme", member())
		for b.Loop() {
			_, err := bench.conn.RequestWithContext(b.Context(), subject, body)
			require.NoError(b, err)
		}
	})
	b.Run("append", func(b *testing.B) {
		a, last := member(), uint64(0)
		for b.Loop() {
			var err error
			last, err = bench.log.Append(b.Context(), "acme", a, last, body)
			require.NoError(b, err)
		}
	})
	b.Run("append/32 writers", func(b *testing.B) {
		var group sync.WaitGroup
		for writer := range 32 {
			group.Go(func() {
				a, last := member(), uint64(0)
				for i := writer; i < b.N; i += 32 {
					var err error
					if last, err = bench.log.Append(b.Context(), "acme", a, last, body); err != nil {
						b.Errorf("append: %v", err)
						return
					}
				}
			})
		}
		group.Wait()
	})
}

// Ten commits of one aggregate, spread over a stream of 50,000: a load should cost about what its one request costs. The spread
// is the broker's worst: between two messages of a subject inside one block it walks all others. Ten in ten blocks are far faster.
func BenchmarkLoadTen(b *testing.B) {
	bench := setup(b, log.Config{})
	require.NoError(b, bench.log.CreateOrganisation(b.Context(), "acme"))
	a, head := member(), uint64(0)
	body := make([]byte, benchBody)
	for i := range 50_000 {
		target, expected := member(), uint64(0)
		if i%5000 == 0 {
			target, expected = a, head
		}
		sequence, err := bench.log.Append(b.Context(), "acme", target, expected, body)
		require.NoError(b, err)
		if target == a {
			head = sequence
		}
	}
	b.Run("raw", func(b *testing.B) {
		request := fmt.Appendf(nil, `{"seq":1,"batch":10,"next_by_subj":%q}`, events.Subject("acme", a))
		inbox := bench.conn.NewInbox()
		sub, err := bench.conn.SubscribeSync(inbox)
		require.NoError(b, err)
		for b.Loop() {
			require.NoError(b, bench.conn.PublishRequest("$JS.API.DIRECT.GET.IRIS_ACME", inbox, request))
			for range 11 { // the tenth is followed by the end of the batch
				_, err := sub.NextMsgWithContext(b.Context())
				require.NoError(b, err)
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			got, err := bench.log.Load(b.Context(), "acme", a, 0, head)
			require.NoError(b, err)
			require.Len(b, got, 10)
		}
	})
	b.Run("head", func(b *testing.B) {
		for b.Loop() {
			_, err := bench.log.Head(b.Context(), "acme", a)
			require.NoError(b, err)
		}
	})
}

// Reading a stream from its beginning, as a rebuild does.
func BenchmarkFollow(b *testing.B) {
	bench := setup(b, log.Config{})
	require.NoError(b, bench.log.CreateOrganisation(b.Context(), "acme"))
	const n = 20_000
	a, last := member(), uint64(0)
	for range n {
		var err error
		last, err = bench.log.Append(b.Context(), "acme", a, last, make([]byte, benchBody))
		require.NoError(b, err)
	}
	for b.Loop() {
		f, err := bench.log.Follow(b.Context(), "IRIS_ACME", 0)
		require.NoError(b, err)
		for at := uint64(0); at < n; {
			got, err := f.Next(b.Context(), 500)
			require.NoError(b, err)
			at = got[len(got)-1].Sequence
		}
		f.Close()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}
