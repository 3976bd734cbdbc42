package projections_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/projections"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/rebuild"
)

// BenchmarkProjector compares a line with a raw COPY of the same bodies into a table without an index, in the same run. 40 % of
// the commits change a memory that is there. Of the machine only the ratio says something.
func BenchmarkProjector(b *testing.B) {
	const commits = 10_000
	s := lives(commits)
	kit := setup(b)
	kit.exec("CREATE TABLE public.raw (position bigint, body bytea)")
	for _, size := range []int{100, 500} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var projected, copied, decoded time.Duration
			for range b.N {
				kit.clear()
				kit.exec("TRUNCATE public.raw")
				copied += elapsed(func() { kit.copyRaw(s, size) })
				projected += elapsed(func() {
					kit.project(s, func(c *engine.Config) { c.MaxBatch, c.Decoder = size, asProjected(s) })
				})
				decoded += elapsed(func() { decodeAll(b, s) })
			}
			b.ReportMetric(float64(commits*b.N)/projected.Seconds(), "commits/s")
			b.ReportMetric(copied.Seconds()/projected.Seconds(), "of-raw-COPY")
			b.ReportMetric(copied.Seconds()/(projected-decoded).Seconds(), "of-raw-COPY-without-decoding")
		})
	}
}

// BenchmarkRebuild is a whole rebuild, beside a table that is read and has the same rows, and beside a raw COPY of the same bodies.
// IRIS_BENCH_COMMITS is how many, default 20,000.
func BenchmarkRebuild(b *testing.B) {
	commits := 20_000
	if asked := os.Getenv("IRIS_BENCH_COMMITS"); asked != "" {
		_, err := fmt.Sscan(asked, &commits)
		require.NoError(b, err)
	}
	s := lives(commits)
	kit := setup(b)
	kit.exec("CREATE TABLE public.raw (position bigint, body bytea)")
	_, err := rebuild.Run(context.Background(), kit.rebuilding(s, nil)) // what is read, to be compared with
	require.NoError(b, err)
	var rebuilt, copied time.Duration
	stages := map[rebuild.Stage]time.Duration{}
	for range b.N {
		kit.exec("TRUNCATE public.raw")
		copied += elapsed(func() { kit.copyRaw(s, 10_000) })
		stage, since := rebuild.Preparing, time.Now()
		rebuilt += elapsed(func() {
			report, err := rebuild.Run(context.Background(), kit.rebuilding(s, nil, func(c *rebuild.Config) {
				c.Progress = func(p rebuild.Progress) {
					if p.Stage != stage {
						stages[stage] += time.Since(since)
						stage, since = p.Stage, time.Now()
					}
				}
			}))
			require.NoError(b, err)
			require.NoError(b, rebuild.Drop(context.Background(), kit.rebuilding(s, nil), report.Kept))
		})
	}
	b.ReportMetric(float64(commits*b.N)/rebuilt.Seconds(), "commits/s")
	b.ReportMetric(copied.Seconds()/rebuilt.Seconds(), "of-raw-COPY")
	for stage, took := range stages {
		b.ReportMetric(took.Seconds()/float64(b.N), strings.ReplaceAll(string(stage), " ", "-")+"-s")
	}
}

func asProjected(s *stream) engine.Decoder {
	return s.codec().Opening(projections.Lines(s.org)[0].Opens...)
}

// lives is a stream of memories, of which 40 % of the commits change one that is there.
func lives(commits int) *stream {
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
	return s
}

func elapsed(act func()) time.Duration {
	begun := time.Now()
	act()
	return time.Since(begun)
}

func decodeAll(b *testing.B, s *stream) {
	for _, m := range s.messages {
		opened := asProjected(s).OpenEach(context.Background(), events.ReadEach([]events.Stored{{Position: m.Sequence, Body: m.Body}}))
		require.NoError(b, opened[0].Err)
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
