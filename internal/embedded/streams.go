package embedded

import (
	"context"
	"log/slog"
	"time"

	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/evidence"
	"iris.example/iris/recalls"
	"iris.example/iris/workers/streamguard"
)

const (
	lookAtAll  = time.Minute // spec 9.2
	lookAtSome = 5 * time.Second
)

// streams is how this process writes: through a guard that knows, from the evidence, what the streams must hold. A nil one was
// never opened.
type streams struct {
	*streamguard.Guarded
	guard    *streamguard.Guard
	evidence *evidence.Store
	fenced   bool
}

func openStreams(l *eventlog.JetStream, dir string, logger *slog.Logger) (*streams, error) {
	known, err := evidence.Open(dir)
	if err != nil {
		return nil, err
	}
	guard, err := streamguard.New(streamguard.Config{
		Log: l, Heads: known, All: time.NewTicker(lookAtAll).C, Soon: time.NewTicker(lookAtSome).C, Logger: logger,
	})
	if err != nil {
		known.Close()
		return nil, err
	}
	return &streams{guard.Over(eventlog.NewGrouped(l)), guard, known, l.Replicated()}, nil
}

// fence is nil where the streams live on one node.
func (s *streams) fence() recalls.Fence {
	if !s.fenced {
		return nil
	}
	return s
}

// known says that the organisation's stream was written to before: whatever else is lost, it is never made anew.
func (s *streams) known(org string) bool {
	_, known := s.evidence.Known(events.StreamFor(org))
	return known
}

// watch guards an organisation whose streams exist. writable is false while one of them isn't what it must be.
func (s *streams) watch(ctx context.Context, org string) (writable bool, err error) {
	if err := s.guard.Watch(ctx, org); err != nil {
		return false, err
	}
	return s.guard.Allow(org) == nil, nil
}

// allWell is what has to be true before anything is played.
func (s *streams) allWell() bool {
	for _, err := range s.guard.Health() {
		if err != nil {
			return false
		}
	}
	return true
}

func (s *streams) close() {
	if s != nil {
		s.evidence.Close()
	}
}
