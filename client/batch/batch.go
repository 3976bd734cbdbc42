// Package batch carries a file of claims, one a line, to their outcomes, and writes down each outcome as it is heard, so that a run
// that was interrupted goes on where it stopped.
//
// It guarantees: a claim is skipped only when its outcome stands in the report; a line that can't be a claim is told by number and
// code, and nothing of it is quoted; a claim without an outcome is sent again under its id, which makes one claim of it. What has no
// outcome at the end is counted as open, and another run tries it again.
package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"iris.example/iris/client"
)

// Producer is what a batch needs of a client.
type Producer interface {
	Propose(ctx context.Context, claim client.Claim) (client.Receipt, error)
}

// Outcomes hears what became of claims.
type Outcomes interface {
	Next(ctx context.Context) (client.Outcome, error)
}

// Config says what a run works with.
type Config struct {
	Producer Producer
	Outcomes Outcomes // subscribed already
	Report   *Report

	Workers int           // how many claims are published at once; 0: 8
	Window  int           // how many may wait for their outcome; 0: 256
	Wait    time.Duration // how long an outcome is waited for before its claim is sent again; 0: 30 s
	Sends   int           // how often a claim is sent before it is left open; 0: 3
	// Moved hears of every line that is done with. It is called by one goroutine at a time.
	Moved func(Progress)
}

// WithDefaults fills what was left out.
func (c Config) WithDefaults() Config {
	if c.Workers == 0 {
		c.Workers = 8
	}
	if c.Window == 0 {
		c.Window = 256
	}
	if c.Wait == 0 {
		c.Wait = 30 * time.Second
	}
	if c.Sends == 0 {
		c.Sends = 3
	}
	if c.Moved == nil {
		c.Moved = func(Progress) {}
	}
	return c
}

// Validate refuses what can't work.
func (c Config) Validate() error {
	if c.Producer == nil || c.Outcomes == nil || c.Report == nil {
		return errors.New("batch: producer, outcomes and report are required")
	}
	if c.Workers < 1 || c.Window < 1 || c.Wait <= 0 || c.Sends < 1 {
		return errors.New("batch: workers, window, wait and sends are positive")
	}
	return nil
}

// Progress is how far a run has come, in lines.
type Progress struct {
	Settled int // have an outcome, from this run
	Skipped int // had one before
	Refused int // of those, were rejected then
	Bad     int // can't be a claim, or the inbox refuses it
	Open    int // were sent as often as allowed and not answered
}

// Done is how many lines nothing more happens to.
func (p Progress) Done() int { return p.Settled + p.Skipped + p.Bad + p.Open }

// Summary is what a run came to.
type Summary struct {
	Progress
	Outcomes map[string]int // by outcome
	Reasons  map[string]int // by the refusal's code
	BadLines []BadLine      // in the order of the file
	OpenIDs  []string       // claims without an outcome
}

// BadLine is a line that isn't carried any further.
type BadLine struct {
	Line int    `json:"line"`
	Code string `json:"code"`
}

// run is one batch under way.
type run struct {
	cfg   Config
	slots chan struct{} // one for each claim that waits for its outcome

	mu      sync.Mutex // guards what follows, and calls of Moved
	waiting map[string]*waiting
	done    Summary
	failed  error
}

type waiting struct {
	line  int
	claim client.Claim
	sent  int
	timer *time.Timer // sends again; nil while it is being published
}

// Run reads lines to the end and waits for every outcome. An error is of the file, the report or ctx: what was settled until then
// stands in the report.
func Run(ctx context.Context, cfg Config, lines io.Reader) (Summary, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return Summary{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &run{
		cfg: cfg, slots: make(chan struct{}, cfg.Window), waiting: map[string]*waiting{},
		done: Summary{Outcomes: map[string]int{}, Reasons: map[string]int{}},
	}
	var hearing, publishing sync.WaitGroup
	hearing.Go(func() { r.hear(ctx, stop) })
	work := make(chan *waiting)
	for range cfg.Workers {
		publishing.Go(func() {
			for w := range work {
				r.publish(ctx, w)
			}
		})
	}
	err := r.feed(ctx, lines, work)
	close(work)
	publishing.Wait()
	if err == nil {
		err = r.drain(ctx)
	}
	stop()
	hearing.Wait()
	return r.end(err)
}

// feed takes the file line by line. A claim waits for a slot before it is sent, so that what is open stays few.
func (r *run) feed(ctx context.Context, lines io.Reader, work chan<- *waiting) error {
	seen := map[string]bool{}
	return eachLine(lines, func(number int, text []byte) error {
		claim, code := parse(text)
		if code == "" && seen[claim.ID] {
			code = "claim_repeated"
		}
		if code != "" {
			r.bad(number, code)
			return ctx.Err()
		}
		seen[claim.ID] = true
		if r.cfg.Report.Settled(claim.ID) {
			r.moved(func() {
				r.done.Skipped++
				if r.cfg.Report.settled[claim.ID] == "rejected" {
					r.done.Refused++
				}
			})
			return ctx.Err()
		}
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		w := &waiting{line: number, claim: claim}
		r.mu.Lock()
		r.waiting[claim.ID] = w
		r.mu.Unlock()
		select {
		case work <- w:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// publish sends a claim. From its receipt on the outcome is waited for; it may have been heard already.
func (r *run) publish(ctx context.Context, w *waiting) {
	w.sent++
	_, err := r.cfg.Producer.Propose(ctx, w.claim)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[w.claim.ID] != w || ctx.Err() != nil {
		return
	}
	switch {
	case errors.Is(err, client.ErrRefused):
		r.leave(w, func() {
			r.done.Bad++
			r.done.BadLines = append(r.done.BadLines, BadLine{w.line, client.ErrRefused.Error()})
		})
	case errors.Is(err, client.ErrClaim):
		r.leave(w, func() {
			r.done.Bad++
			r.done.BadLines = append(r.done.BadLines, BadLine{w.line, client.ErrClaim.Error()})
		})
	default: // received, or nobody knows: the outcome tells, or the claim is sent again
		w.timer = time.AfterFunc(r.cfg.Wait, func() { r.overdue(ctx, w) })
	}
}

func (r *run) overdue(ctx context.Context, w *waiting) {
	r.mu.Lock()
	if r.waiting[w.claim.ID] != w || ctx.Err() != nil {
		r.mu.Unlock()
		return
	}
	if w.sent >= r.cfg.Sends {
		r.leave(w, func() { r.done.Open++; r.done.OpenIDs = append(r.done.OpenIDs, w.claim.ID) })
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	r.publish(ctx, w)
}

// hear writes outcomes down as they come. One that isn't of this run's claims is somebody else's.
func (r *run) hear(ctx context.Context, stop context.CancelFunc) {
	for {
		outcome, err := r.cfg.Outcomes.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = r.settle(outcome)
		}
		if err != nil {
			r.mu.Lock()
			r.failed = err
			r.mu.Unlock()
			stop()
			return
		}
	}
}

func (r *run) settle(o client.Outcome) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.waiting[o.Claim]
	if !ok {
		return nil
	}
	if err := r.cfg.Report.write(entry{Line: w.line, ID: o.Claim, Outcome: o.Outcome, Reason: o.Reason, ProposalID: o.ProposalID}); err != nil {
		return err
	}
	r.leave(w, func() {
		r.done.Settled++
		r.done.Outcomes[o.Outcome]++
		if o.Reason != "" {
			r.done.Reasons[o.Reason]++
		}
	})
	return nil
}

// leave ends the waiting for a claim. mu is held.
func (r *run) leave(w *waiting, count func()) {
	if w.timer != nil {
		w.timer.Stop()
	}
	delete(r.waiting, w.claim.ID)
	<-r.slots
	count()
	r.cfg.Moved(r.done.Progress)
}

func (r *run) moved(count func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count()
	r.cfg.Moved(r.done.Progress)
}

func (r *run) bad(line int, code string) {
	r.moved(func() { r.done.Bad++; r.done.BadLines = append(r.done.BadLines, BadLine{line, code}) })
}

// drain waits until no claim waits: every slot can be taken.
func (r *run) drain(ctx context.Context) error {
	for range cap(r.slots) {
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (r *run) end(err error) (Summary, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiting {
		if w.timer != nil {
			w.timer.Stop()
		}
	}
	if r.failed != nil {
		err = r.failed
	}
	if err != nil {
		err = fmt.Errorf("carry the claims: %w", err)
	}
	return r.done, errors.Join(err, r.cfg.Report.sync())
}
