package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"iris.example/iris/problems"
)

// MaxBehind is how long a claim may wait before intake counts as not well (spec 9.2).
const MaxBehind = time.Hour

// ErrBehind: a claim has waited for longer than MaxBehind.
var ErrBehind = errors.New("intake_behind")

// Backlog knows the claim that has waited longest.
type Backlog interface {
	OldestClaim(ctx context.Context) (came time.Time, waiting bool, err error)
}

// Behind is nil while no claim has waited for longer than MaxBehind. now is the broker's time, not the product's.
func Behind(ctx context.Context, b Backlog, now time.Time) error {
	came, waiting, err := b.OldestClaim(ctx)
	if err != nil {
		return err
	}
	if age := now.Sub(came); waiting && age > MaxBehind {
		return fmt.Errorf("%w: the oldest claim has waited %s", ErrBehind, age.Round(time.Second))
	}
	return nil
}

const sweepEvery = time.Hour

// sweep drops expired parked claims, at the start and every hour. Nobody is shown one meanwhile.
func (w *Worker) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		if _, err := w.cfg.Claims.SweepParked(ctx); err != nil && ctx.Err() == nil {
			w.cfg.Logger.Warn("expired claims not dropped, will be tried again", "code", problems.Of(err).Code)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
