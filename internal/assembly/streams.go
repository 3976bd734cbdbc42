package assembly

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

// Streams is how a process writes: through a guard that knows, from the evidence, what the streams must hold. A nil one was
// never opened.
type Streams struct {
	*streamguard.Guarded
	Guard    *streamguard.Guard
	evidence *evidence.Store
	ticks    []*time.Ticker // the Guard's
	fenced   bool
}

// OpenStreams takes the evidence in dir for this process. Run the Guard.
func OpenStreams(l *eventlog.JetStream, dir string, logger *slog.Logger) (*Streams, error) {
	known, err := evidence.Open(dir)
	if err != nil {
		return nil, err
	}
	all, soon := time.NewTicker(lookAtAll), time.NewTicker(lookAtSome)
	s := &Streams{evidence: known, ticks: []*time.Ticker{all, soon}, fenced: l.Replicated()}
	s.Guard, err = streamguard.New(streamguard.Config{Log: l, Heads: known, All: all.C, Soon: soon.C, Logger: logger})
	if err != nil {
		s.Close()
		return nil, err
	}
	s.Guarded = s.Guard.Over(eventlog.NewGrouped(l))
	return s, nil
}

// Fence is nil where the streams live on one node.
func (s *Streams) Fence() recalls.Fence {
	if !s.fenced {
		return nil
	}
	return s
}

// Known says that the organisation's stream was written to before: whatever else is lost, it is never made anew.
func (s *Streams) Known(org string) bool {
	_, known := s.evidence.Known(events.StreamFor(org))
	return known
}

// Watch guards an organisation whose streams exist. writable is false while one of them isn't what it must be.
func (s *Streams) Watch(ctx context.Context, org string) (writable bool, err error) {
	if err := s.Guard.Watch(ctx, org); err != nil {
		return false, err
	}
	return s.Guard.Allow(org) == nil, nil
}

// AllWell is what has to be true before anything is played.
func (s *Streams) AllWell() bool {
	for _, err := range s.Guard.Health() {
		if err != nil {
			return false
		}
	}
	return true
}

// Close ends the looks and lets another process have the evidence. The Guard has stopped running before.
func (s *Streams) Close() {
	if s == nil {
		return
	}
	for _, tick := range s.ticks {
		tick.Stop()
	}
	s.evidence.Close()
}
