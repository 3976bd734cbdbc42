// Package streamguard watches that every organisation's streams are what they must be, and stops writing where one isn't
// (spec 9.2): configured as the code says, there, no shorter than was known, and unchanged at the known head.
//
// It guarantees: nothing is appended for an organisation before its streams have been looked at and found well, nor while one of
// them is in alarm (ErrGuarded); a stream is never created, changed or repaired here; an organisation in alarm is looked at again
// every few seconds and opened by itself when its streams are as they must be. What is known advances only to what stood on the
// stream, or was acknowledged to this process, and only while nothing is wrong.
//
// A broker that doesn't answer is no alarm: its appends fail by themselves, and the verdict of before stands.
//
// Known not to work: a change below the known head that leaves head and configuration as they are. The chain of each aggregate
// shows it to whoever folds it, and the verifiable log will.
package streamguard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/evidence"
)

var (
	// ErrGuarded: writes of the organisation are refused; nothing was written. It is of the family of log.ErrUnavailable.
	ErrGuarded = fmt.Errorf("streamguard: writes refused: %w", log.ErrUnavailable)

	// ErrShortened: a stream ends before what is known of it.
	ErrShortened = errors.New("streamguard: stream shortened")
	// ErrChanged: another message, or none, stands where the known head stood.
	ErrChanged = errors.New("streamguard: stream changed")
	// ErrUnseen: nobody has looked yet, or the broker didn't answer when somebody did.
	ErrUnseen = errors.New("streamguard: not looked at yet")
)

// Log is what the guard reads. It holds nothing that writes.
type Log interface {
	OpenOrganisation(ctx context.Context, org string) error
	Last(ctx context.Context, stream string) (uint64, error)
	At(ctx context.Context, stream string, sequence uint64) (log.Message, error)
}

// Heads is what the guard needs of the evidence.
type Heads interface {
	Known(stream string) (evidence.Head, bool)
	Keep(heads ...evidence.Head) error
}

// Config says what is watched and when.
type Config struct {
	Log    Log
	Heads  Heads
	Logger *slog.Logger
	All    <-chan time.Time // looks at every organisation: each minute (spec 9.2)
	Soon   <-chan time.Time // looks at those that were written to or are in alarm, and keeps their heads: every few seconds
	Every  int              // commits after which heads are kept without waiting for Soon; 0: 4096
	// AccessMaxAge is log.Config's; with one, envelopes may be gone.
	AccessMaxAge time.Duration
}

// WithDefaults fills what was left out.
func (c Config) WithDefaults() Config {
	if c.Every == 0 {
		c.Every = 4096
	}
	return c
}

// Validate refuses a guard that would never look.
func (c Config) Validate() error {
	switch {
	case c.Log == nil || c.Heads == nil || c.Logger == nil:
		return errors.New("streamguard: config: log, heads and logger are required")
	case c.All == nil || c.Soon == nil:
		return errors.New("streamguard: config: a guard without tickers never looks")
	case c.Every < 1:
		return fmt.Errorf("streamguard: config: heads kept every %d commits", c.Every)
	}
	return nil
}

// Guard watches. Run it; Watch each organisation before it is written to.
type Guard struct {
	config Config
	wake   chan struct{} // something to look at before Soon; holds one

	looking sync.Mutex // one look at a time: two would keep heads out of order

	mu       sync.RWMutex // guards what follows
	watched  map[string]*watch
	unkept   error // the evidence couldn't be written
	appended int   // since heads were kept
}

// watch is one organisation. Both streams share a verdict: neither alone can be decided upon.
type watch struct {
	alarm   error // nil: well
	written bool  // since the last look
	streams map[string]*position
}

// position is how far a stream is known.
type position struct {
	seen  evidence.Head // stood there at the last look; none: the stream was empty or is new here
	acked evidence.Head // the furthest that the broker acknowledged since, without its time; none: nothing
}

// New builds a guard that has looked at nothing.
func New(config Config) (*Guard, error) {
	config = config.WithDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Guard{config: config, wake: make(chan struct{}, 1), watched: map[string]*watch{}}, nil
}

// Watch begins to guard an organisation whose streams exist, and looks at once. An alarm is no error: Allow says it. An error
// means that the broker didn't answer; writes stay refused until it does.
func (g *Guard) Watch(ctx context.Context, org string) error {
	g.mu.Lock()
	if g.watched[org] == nil {
		w := &watch{alarm: ErrUnseen, streams: map[string]*position{}}
		for _, stream := range streamsOf(org) {
			w.streams[stream] = &position{}
			if known, ok := g.config.Heads.Known(stream); ok {
				w.streams[stream].seen = known
			}
		}
		g.watched[org] = w
	}
	g.mu.Unlock()
	g.looking.Lock()
	defer g.looking.Unlock()
	seen, err := g.looks(ctx, []string{org})
	if len(seen) > 0 {
		g.again(org) // heads are kept together: a start with a thousand organisations writes once
	}
	return err
}

// Look looks at every organisation now, as each minute does.
func (g *Guard) Look(ctx context.Context) error {
	return g.lookAt(ctx, g.those(func(*watch) bool { return true }))
}

func streamsOf(org string) []string {
	return []string{events.StreamFor(org), events.AccessStreamFor(org)}
}

// Run looks whenever it is time, until ctx ends; then once more, so that the next start knows how far this one came. What it
// couldn't look at, or keep, is said in Health and the log; it is no reason to end.
func (g *Guard) Run(ctx context.Context) {
	for {
		var orgs []string
		select {
		case <-g.config.All:
			orgs = g.those(func(*watch) bool { return true })
		case <-g.config.Soon:
			orgs = g.those(func(w *watch) bool { return w.written || w.alarm != nil })
		case <-g.wake:
			orgs = g.those(func(w *watch) bool { return w.written || w.alarm != nil })
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
			defer cancel()
			g.report(g.lookAt(last, g.those(func(w *watch) bool { return w.written })))
			return
		}
		if err := g.lookAt(ctx, orgs); ctx.Err() == nil {
			g.report(err)
		}
	}
}

func (g *Guard) report(err error) {
	if err != nil {
		g.config.Logger.Warn("stream guard couldn't look", "error", err)
	}
}

// lastLook is the time for what is known at a stop.
const lastLook = 5 * time.Second

func (g *Guard) those(which func(*watch) bool) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	var orgs []string
	for org, w := range g.watched {
		if which(w) {
			orgs = append(orgs, org)
		}
	}
	slices.Sort(orgs)
	return orgs
}

// lookAt compares and keeps. Its error is of the broker or the evidence, never an alarm.
func (g *Guard) lookAt(ctx context.Context, orgs []string) error {
	g.looking.Lock()
	defer g.looking.Unlock()
	news, err := g.looks(ctx, orgs)
	return errors.Join(err, g.keep(news))
}

// looks needs the lock on looking. It settles every verdict and returns the heads of what is well.
func (g *Guard) looks(ctx context.Context, orgs []string) (news []evidence.Head, err error) {
	ctx, cancel := context.WithTimeout(ctx, longestRound)
	defer cancel()
	var mu sync.Mutex // guards news
	var looks errgroup.Group
	looks.SetLimit(looksAtOnce)
	for _, org := range orgs {
		looks.Go(func() error {
			seen, err := g.look(ctx, org)
			if err != nil && !alarming(err) {
				g.again(org)
				return fmt.Errorf("look at the streams of %s: %w", org, err)
			}
			g.settle(org, seen, err)
			mu.Lock()
			defer mu.Unlock()
			news = append(news, seen...)
			return nil
		})
	}
	err = looks.Wait()
	return news, err
}

const (
	// longestRound ends a round on a broker that answers nothing; the next one begins with whoever wasn't seen.
	longestRound = 45 * time.Second
	looksAtOnce  = 8
)

// again makes an organisation be looked at soon.
func (g *Guard) again(org string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watched[org].written = true
}

func alarming(err error) bool {
	for _, alarm := range []error{log.ErrDrift, log.ErrMissingStream, ErrShortened, ErrChanged} {
		if errors.Is(err, alarm) {
			return true
		}
	}
	return false
}

// look compares an organisation's streams with what they must be, and returns the heads that they have now.
func (g *Guard) look(ctx context.Context, org string) (seen []evidence.Head, err error) {
	known := g.begin(org)
	if err := g.config.Log.OpenOrganisation(ctx, org); err != nil {
		return nil, err
	}
	for _, stream := range streamsOf(org) {
		head, err := g.compare(ctx, stream, known[stream], g.mayExpire(org, stream))
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", stream, err)
		}
		if !head.Stored.IsZero() { // something stands there, or stood until it expired
			seen = append(seen, head)
		}
	}
	return seen, nil
}

// begin reads how far is known before the stream is asked, so that what is acknowledged meanwhile can't look like a loss.
func (g *Guard) begin(org string) map[string]position {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := map[string]position{}
	for stream, p := range g.watched[org].streams {
		known[stream] = *p
	}
	g.watched[org].written = false
	return known
}

// compare holds a stream to what is known of it and returns its head; a zero one when nothing is on it.
func (g *Guard) compare(ctx context.Context, stream string, known position, mayExpire bool) (head evidence.Head, err error) {
	last, err := g.config.Log.Last(ctx, stream)
	if err != nil {
		return evidence.Head{}, err
	}
	for _, was := range []evidence.Head{known.seen, known.acked} {
		if was.Sequence == 0 {
			continue
		}
		if last < was.Sequence {
			return evidence.Head{}, fmt.Errorf("%w: it ends at %d, known is %d", ErrShortened, last, was.Sequence)
		}
		is, err := g.at(ctx, stream, was.Sequence)
		switch {
		case errors.Is(err, log.ErrNotFound) && mayExpire:
			is = was
		case errors.Is(err, log.ErrNotFound):
			return evidence.Head{}, fmt.Errorf("%w: nothing stands at %d", ErrChanged, was.Sequence)
		case err != nil:
			return evidence.Head{}, err
		case is.SHA256 != was.SHA256:
			return evidence.Head{}, fmt.Errorf("%w: another message stands at %d", ErrChanged, was.Sequence)
		}
		head = is
	}
	if last <= head.Sequence {
		return head, nil
	}
	newest, err := g.at(ctx, stream, last)
	switch {
	case errors.Is(err, log.ErrNotFound) && mayExpire:
		return head, nil
	case errors.Is(err, log.ErrNotFound): // a damaged block reads as deletes
		return evidence.Head{}, fmt.Errorf("%w: it ends at %d, and nothing stands there", ErrChanged, last)
	}
	return newest, err
}

// mayExpire is true of a stream whose messages the policy lets go: that one is gone is then no alarm.
func (g *Guard) mayExpire(org, stream string) bool {
	return g.config.AccessMaxAge > 0 && stream == events.AccessStreamFor(org)
}

func (g *Guard) at(ctx context.Context, stream string, sequence uint64) (evidence.Head, error) {
	m, err := g.config.Log.At(ctx, stream, sequence)
	if err != nil {
		return evidence.Head{}, err
	}
	return evidence.Head{Stream: stream, Sequence: sequence, SHA256: events.Hash(m.Body), Stored: m.Stored}, nil
}

// settle takes a verdict over. It says aloud what changed.
func (g *Guard) settle(org string, seen []evidence.Head, alarm error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.watched[org]
	before := w.alarm
	w.alarm = alarm
	for _, head := range seen {
		p := w.streams[head.Stream]
		p.seen = head
		if p.acked.Sequence <= head.Sequence {
			p.acked = evidence.Head{}
		}
	}
	switch {
	case alarm != nil && (before == nil || before.Error() != alarm.Error()):
		g.config.Logger.Error("stream guard refuses writes", "organisation", org, "error", alarm, "do", whatToDo)
	case alarm == nil && before != nil && !errors.Is(before, ErrUnseen):
		g.config.Logger.Info("stream guard allows writes again", "organisation", org)
	}
}

// keep writes heads to the evidence. Failing to is told, and no reason to stop writing: the stream itself is well.
func (g *Guard) keep(news []evidence.Head) error {
	err := g.config.Heads.Keep(news...)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil || len(news) > 0 { // nothing to write says nothing about writing
		g.unkept = err
	}
	if err == nil {
		g.appended = 0
	}
	return err
}

const whatToDo = "never make the stream anew: stop, and follow docs/operations.md under this alarm"

// Allow is nil while the organisation may be written to.
func (g *Guard) Allow(org string) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	_, err := g.allow(org)
	return err
}

// allow needs the lock.
func (g *Guard) allow(org string) (*watch, error) {
	w := g.watched[org]
	switch {
	case w == nil:
		return nil, fmt.Errorf("organisation %s: %w: %v", org, ErrGuarded, ErrUnseen)
	case w.alarm != nil:
		// The alarm is told and not wrapped: to the caller this is a store that can't be written now, and nothing else.
		return w, fmt.Errorf("organisation %s: %w: %v; %s", org, ErrGuarded, w.alarm, whatToDo)
	}
	return w, nil
}

// Health is every check by what it is about, "streams of acme" or "evidence"; nil where all is well.
func (g *Guard) Health() map[string]error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	all := map[string]error{"evidence": g.unkept}
	for org, w := range g.watched {
		all["streams of "+org] = w.alarm
	}
	return all
}
