package assembly

import (
	"context"
	"errors"
	"fmt"
	"time"

	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
)

// ErrClock: the product's clock lies behind what was recorded.
var ErrClock = errors.New("assembly: clock behind")

// CheckClock refuses a clock that lies behind the last recorded fact (spec 9.7). Fences behind it are no facts and carry no time.
func CheckClock(ctx context.Context, l *eventlog.JetStream, org string, now time.Time) error {
	last, err := l.LastCommit(ctx, org)
	if errors.Is(err, eventlog.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	commit, _, err := events.Read(last.Sequence, last.Body)
	if err != nil {
		return err
	}
	if recorded := commit.Events[0].RecordedAt; now.Before(recorded.Time) {
		return fmt.Errorf("%w: the clock (%s) is behind the last recorded fact (%s); set it, or start with --clock-offset of at least %s",
			ErrClock, events.At(now), recorded, recorded.Sub(time.Now()).Round(time.Second)+time.Second)
	}
	return nil
}
