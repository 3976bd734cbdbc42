package projector

import (
	"context"
	"time"

	"iris.example/iris/events/log"
	"iris.example/iris/projections/engine"
)

// A transaction costs PostgreSQL as much as twenty commits in it (measured), and three lines that each write what came in the
// millisecond before took a third of the machine. So a line that is busy lets commits gather: for each one that a reading brought
// it reads gatherEach later, at most gatherMost. One that has caught up or is far behind reads at once (spec 9.4: what is pending
// goes in one batch, an idle projector flushes at once).
const (
	gatherEach = 4 * time.Millisecond
	gatherMost = 50 * time.Millisecond
)

// paced makes the sources of a Follow rest while they are busy.
func paced(follow engine.Follow) engine.Follow {
	return func(ctx context.Context, stream string, after uint64) (engine.Source, error) {
		source, err := follow(ctx, stream, after)
		if err != nil {
			return nil, err
		}
		return &gathering{Source: source}, nil
	}
}

// gathering is owned by the goroutine in Next.
type gathering struct {
	engine.Source
	until time.Time // nothing is read before
}

func (g *gathering) Next(ctx context.Context, limit int) ([]log.Message, error) {
	rest(ctx, time.Until(g.until))
	messages, err := g.Source.Next(ctx, limit)
	g.until = time.Now().Add(restAfter(len(messages), limit))
	return messages, err
}

func restAfter(brought, limit int) time.Duration {
	if brought <= 1 || brought == limit {
		return 0
	}
	return min(time.Duration(brought)*gatherEach, gatherMost)
}

func rest(ctx context.Context, wait time.Duration) {
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
