package projections_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events/log"
	"iris.example/iris/projections/engine"
)

// BenchmarkProjector compares a line with a raw COPY of the same bodies into a table without an index, in the same run. 40 % of
// the commits change a memory that is there. Of the machine only the ratio says something.
func BenchmarkProjector(b *testing.B) {
	const commits = 10_000
	s := newStream("acme")
	member := s.id()
	var last life
	for i := range commits {
		if i%5 < 3 {
			m := s.stated(fmt.Sprintf("%0210d", i))
			s.commit(member, m)
			last = life{member, m.Entry, m.RevisionID}
			continue
		}
		change := s.superseded(last.entry, last.current, member)
		s.commit(member, change)
		last.current = change.RevisionID
	}
	kit := setup(b)
	kit.exec("CREATE TABLE public.raw (position bigint, body bytea)")
	for _, size := range []int{100, 500} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var projected, copied, decoded time.Duration
			for range b.N {
				kit.clear()
				kit.exec("TRUNCATE public.raw")
				copied += elapsed(func() { kit.copyRaw(s, size) })
				projected += elapsed(func() { kit.project(s, func(c *engine.Config) { c.MaxBatch = size }) })
				decoded += elapsed(func() { decodeAll(b, s) })
			}
			b.ReportMetric(float64(commits*b.N)/projected.Seconds(), "commits/s")
			b.ReportMetric(copied.Seconds()/projected.Seconds(), "of-raw-COPY")
			b.ReportMetric(copied.Seconds()/(projected-decoded).Seconds(), "of-raw-COPY-without-decoding")
		})
	}
}

func elapsed(act func()) time.Duration {
	begun := time.Now()
	act()
	return time.Since(begun)
}

func decodeAll(b *testing.B, s *stream) {
	for _, m := range s.messages {
		_, err := s.codec().Decode(context.Background(), m.Sequence, m.Body)
		require.NoError(b, err)
	}
}

// copyRaw commits after every batch, as the line does.
func (b *bundle) copyRaw(s *stream, size int) {
	for begin := 0; begin < len(s.messages); begin += size {
		batch := s.messages[begin:min(begin+size, len(s.messages))]
		_, err := b.super.CopyFrom(context.Background(), pgx.Identifier{"public", "raw"}, []string{"position", "body"},
			pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) { return row(batch[i]), nil }))
		require.NoError(b.t, err)
	}
}

func row(m log.Message) []any { return []any{int64(m.Sequence), m.Body} }
