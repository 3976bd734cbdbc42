package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
	"iris.example/iris/internal/embedded"
	"iris.example/iris/projections/rebuild"
	"iris.example/iris/projections/search"
)

const (
	rebuildMembers = 100
	rebuildBodies  = 20_000
	rebuildPromise = 90 * time.Second // of a million events
	aMillion       = 1_000_000
)

// rebuilt: a whole rebuild of every read model, from the streams through the vault, compared with what is read and flipped. What is
// counted are events of the organisation's stream, of which many commits have two (a yes that supersedes). The time of a million is
// that of those there are, in proportion.
func (b *run) rebuilt(ctx context.Context) (Figure, error) {
	if err := b.live(ctx, b.cfg.RebuildEvents); err != nil {
		return Figure{}, err
	}
	last, err := b.instance.Log.Last(ctx, stream("acme"))
	if err != nil {
		return Figure{}, err
	}
	if err := b.caughtUp(ctx, last); err != nil {
		return Figure{}, err
	}
	bodies, commits, count, err := b.everything(ctx)
	if err != nil {
		return Figure{}, err
	}
	raw, err := b.copyRaw(ctx, bodies)
	if err != nil {
		return Figure{}, err
	}
	stages := watch{began: time.Now()}
	report, err := b.instance.Rebuild(ctx, embedded.Models{Act: "rebuild"}, stages.saw)
	if err != nil {
		return Figure{}, err
	}
	grows := stages.end() // with the events; making tables and flipping them doesn't
	million := report.Took - grows + time.Duration(float64(grows)*aMillion/float64(count))
	measured := fmt.Sprintf("%s, in proportion to %d events in %d commits: %s", million.Round(100*time.Millisecond), count, commits, report.Took.Round(time.Millisecond))
	if count >= aMillion {
		million = report.Took
		measured = fmt.Sprintf("%s: %d events in %d commits", report.Took.Round(100*time.Millisecond), count, commits)
	}
	measured += stages.String()
	return Figure{
		Name: "rebuild of 1M events", Measured: measured,
		Raw:   fmt.Sprintf("%s; one COPY of the bodies of %d commits into a table without an index: %s", rebuildPromise, len(bodies), raw.Round(time.Millisecond)),
		Ratio: million.Seconds() / rebuildPromise.Seconds(), Promise: "≤ " + rebuildPromise.String(), Met: million <= rebuildPromise,
	}, nil
}

// caughtUp waits until every line of the organisation is there: what they have left to do isn't the rebuild's.
func (b *run) caughtUp(ctx context.Context, position uint64) error {
	for _, line := range []string{stream("acme"), search.LineOf("acme")} {
		if err := b.instance.Acts.Read.Wait.Wait(ctx, "acme", line, position); err != nil {
			return err
		}
	}
	return nil
}

// watch is how long each stage took.
type watch struct {
	began  time.Time
	stages []rebuild.Stage
	took   []time.Duration
}

func (w *watch) saw(p rebuild.Progress) {
	if n := len(w.stages); n == 0 || w.stages[n-1] != p.Stage {
		w.lap()
		w.stages = append(w.stages, p.Stage)
	}
}

func (w *watch) lap() {
	now := time.Now()
	if len(w.stages) > 0 {
		w.took = append(w.took, now.Sub(w.began))
	}
	w.began = now
}

// end is how long it took to read, index and compare.
func (w *watch) end() (grows time.Duration) {
	w.lap()
	for n, stage := range w.stages {
		if stage != rebuild.Preparing && stage != rebuild.Flipping {
			grows += w.took[n]
		}
	}
	return grows
}

func (w *watch) String() string {
	var s strings.Builder
	for n, stage := range w.stages {
		fmt.Fprintf(&s, ", %s %s", stage, w.took[n].Round(10*time.Millisecond))
	}
	return s.String()
}

func stream(org string) string { return events.StreamFor(org) }

// everything is how many commits and events the projected organisation has, and some bodies to hold the rest against.
func (b *run) everything(ctx context.Context) (bodies [][]byte, commits, count int, err error) {
	last, err := b.instance.Log.Last(ctx, stream("acme"))
	if err != nil {
		return nil, 0, 0, err
	}
	follower, err := b.instance.Log.Follow(ctx, stream("acme"), 0)
	if err != nil {
		return nil, 0, 0, err
	}
	defer follower.Close()
	for at := uint64(0); at < last; {
		messages, err := follower.Next(ctx, 1000)
		if err != nil {
			return nil, 0, 0, err
		}
		for _, m := range messages {
			commit, _, err := events.Read(m.Sequence, m.Body)
			if err != nil {
				return nil, 0, 0, err
			}
			commits, count, at = commits+1, count+len(commit.Events), m.Sequence
			if len(bodies) < rebuildBodies {
				bodies = append(bodies, m.Body)
			}
		}
	}
	return bodies, commits, count, nil
}

func (b *run) copyRaw(ctx context.Context, bodies [][]byte) (time.Duration, error) {
	if _, err := b.sql.Exec(ctx, "CREATE TEMPORARY TABLE bench_bodies (n bigint, body bytea)"); err != nil {
		return 0, err
	}
	began := time.Now()
	_, err := b.sql.CopyFrom(ctx, pgx.Identifier{"bench_bodies"}, []string{"n", "body"}, pgx.CopyFromSlice(len(bodies), func(i int) ([]any, error) {
		return []any{int64(i), bodies[i]}, nil
	}))
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	_, err = b.sql.Exec(ctx, "DROP TABLE bench_bodies")
	return took, err
}
