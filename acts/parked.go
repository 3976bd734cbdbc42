package acts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
	"iris.example/iris/runner"
)

// parkedFor is how long a claim that couldn't be read is kept (spec 9.2).
const parkedFor = 14 * 24 * time.Hour

// Inbox is where claims wait for intake.
type Inbox interface {
	Resubmit(ctx context.Context, org, producer string, body []byte) error
}

// Unread is a claim that intake couldn't read.
type Unread struct {
	Organisation string
	Producer     string
	Sequence     uint64 // in the inbox
	Received     time.Time
	Code         string
	Body         []byte
}

// Park keeps an unread claim, sealed. Its id comes from where it stood in the inbox, so that a claim that the inbox brings again is
// parked once.
func (a *Acts) Park(ctx context.Context, u Unread) error {
	id := events.CommandID("parked", u.Organisation, u.Producer, fmt.Sprint(u.Sequence), events.At(u.Received).String())
	now := events.At(a.Now())
	err := a.Parked.Park(ctx, events.Parked{
		ID: id, Organisation: u.Organisation, Producer: u.Producer, Code: u.Code, ParkedAt: now, ExpiresAt: now.Plus(parkedFor),
	}, u.Body)
	if err != nil {
		return fmt.Errorf("park claim %s: %w: %w", id, runner.ErrUnavailable, err)
	}
	return nil
}

// SweepParked drops what has expired. Nothing waits for it.
func (a *Acts) SweepParked(ctx context.Context) (dropped int, err error) {
	return a.Parked.DropExpiredClaims(ctx, events.At(a.Now()))
}

// ParkedClaims lists what is parked, newest first, without any content.
func (a *Acts) ParkedClaims(ctx context.Context, c Caller, page reader.Page) (Page[events.Parked], error) {
	if _, err := c.administers(); err != nil {
		return Page[events.Parked]{}, err
	}
	return a.parkedPage(ctx, c.Organisation, page)
}

func (a *Acts) parkedPage(ctx context.Context, org string, page reader.Page) (Page[events.Parked], error) {
	start := page.Start()
	below := events.At(time.UnixMicro(int64(min(start.Position, lastMicros))))
	found, err := a.Parked.ParkedClaims(ctx, org, events.At(a.Now()), below, start.ID, page.Ask())
	if err != nil {
		return Page[events.Parked]{}, fmt.Errorf("list parked claims: %w: %w", runner.ErrUnavailable, err)
	}
	items, next := reader.Cut(page, found, func(p events.Parked) reader.Key {
		return reader.Key{Position: uint64(p.ParkedAt.UnixMicro()), ID: p.ID}
	})
	return Page[events.Parked]{Items: items, Next: next}, nil
}

// lastMicros lies behind every claim and within what PostgreSQL takes.
const lastMicros = 253402300799000000

// ParkedClaim is one parked claim. Its content, as it came, is shown only with a reference, the ticket that it is read for: it
// may be anybody's words. Whoever answers writes down who asked, for which reference.
type ParkedClaim struct {
	events.Parked
	Content []byte
}

// ParkedClaim finds a parked claim of the caller's organisation.
func (a *Acts) ParkedClaim(ctx context.Context, c Caller, id events.ID, reveal bool) (ParkedClaim, error) {
	if _, err := c.administers(); err != nil {
		return ParkedClaim{}, err
	}
	p, body, err := a.parked(ctx, c.Organisation, id)
	if !reveal {
		body = nil
	}
	return ParkedClaim{p, body}, err
}

func (a *Acts) parked(ctx context.Context, org string, id events.ID) (events.Parked, []byte, error) {
	p, body, found, err := a.Parked.ParkedClaim(ctx, org, id, events.At(a.Now()))
	if err != nil {
		return p, nil, fmt.Errorf("read parked claim %s: %w: %w", id, runner.ErrUnavailable, err)
	}
	if !found {
		return p, nil, fmt.Errorf("parked claim: %w", ErrNotFound)
	}
	return p, body, nil
}

// RetryParked takes a parked claim in again, through the inbox, as if its producer had sent it now: the producer hears the outcome,
// and what still can't be read is parked anew. It is given up here only once the inbox has it.
func (a *Acts) RetryParked(ctx context.Context, c Caller, r Request, id events.ID) (Done, error) {
	return a.unpark(ctx, c, r, id, func(p events.Parked, body []byte) error {
		if err := a.Inbox.Resubmit(ctx, c.Organisation, p.Producer, body); err != nil {
			return fmt.Errorf("retry parked claim %s: %w", id, err)
		}
		return nil
	})
}

// DiscardParked destroys a parked claim.
func (a *Acts) DiscardParked(ctx context.Context, c Caller, r Request, id events.ID) (Done, error) {
	return a.unpark(ctx, c, r, id, func(events.Parked, []byte) error { return nil })
}

// unpark gives a parked claim up once first has been done with it. A command that was carried out answers as it did (spec 9.2), also
// where the claim is gone by now. The answer is the last position of the organisation: nothing of a parked claim stands on a stream.
func (a *Acts) unpark(ctx context.Context, c Caller, r Request, id events.ID, first func(events.Parked, []byte) error) (Done, error) {
	if _, err := c.administers(); err != nil {
		return Done{}, err
	}
	command := c.commandID(r)
	position, known, err := a.Parked.Unparked(ctx, c.Organisation, command)
	if err != nil {
		return Done{}, fmt.Errorf("look command %s up: %w: %w", command, runner.ErrUnavailable, err)
	}
	if known {
		return Done{position}, nil
	}
	p, body, err := a.parked(ctx, c.Organisation, id)
	if err != nil {
		return Done{}, err
	}
	if err := first(p, body); err != nil {
		return Done{}, err
	}
	last, err := a.Stream.Last(ctx, events.StreamFor(c.Organisation))
	if err != nil {
		return Done{}, err
	}
	position, err = a.Parked.Unpark(ctx, c.Organisation, id, command, last, events.At(a.Now()))
	if err != nil {
		return Done{}, fmt.Errorf("drop parked claim %s: %w: %w", id, runner.ErrUnavailable, err)
	}
	return Done{position}, nil
}

// EraseParked is the erase handler of parked claims: it destroys all that may concern the member, and says how many. A claim that
// names another member stays; one that names nobody whom we know is taken for this member's, because it can't be shown that it
// isn't.
func (a *Acts) EraseParked(ctx context.Context, org string, member events.ID) (erased int, err error) {
	for page := (reader.Page{Limit: reader.MaxLimit}); ; {
		found, err := a.parkedPage(ctx, org, page)
		if err != nil {
			return erased, err
		}
		for _, p := range found.Items {
			gone, err := a.eraseIfConcerned(ctx, org, p.ID, member)
			if err != nil {
				return erased, fmt.Errorf("erase parked claim %s: %w", p.ID, err)
			}
			if gone {
				erased++
			}
		}
		if page.Before = found.Next; found.Next == nil {
			return erased, nil
		}
	}
}

func (a *Acts) eraseIfConcerned(ctx context.Context, org string, id, member events.ID) (bool, error) {
	_, body, found, err := a.Parked.ParkedClaim(ctx, org, id, events.At(a.Now()))
	if err != nil || !found {
		return false, err
	}
	named, err := a.namedIn(ctx, org, body)
	if err != nil || named != "" && named != member {
		return false, err
	}
	return a.Parked.DropParked(ctx, org, id)
}

// namedIn is the member that a claim names, as far as it can be read; empty: none that we know.
func (a *Acts) namedIn(ctx context.Context, org string, body []byte) (events.ID, error) {
	if boundary.Check(body) != nil {
		return "", nil
	}
	var claim struct {
		Data struct {
			Member MemberRef `json:"member"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &claim) != nil || claim.Data.Member == (MemberRef{}) {
		return "", nil
	}
	if ref := claim.Data.Member; ref.ID != "" {
		if boundary.UUID("member", string(ref.ID)) != nil {
			return "", nil
		}
		exists, err := a.Directory.MemberExists(ctx, org, ref.ID)
		if err != nil || !exists {
			return "", err
		}
		return ref.ID, nil
	}
	return a.resolve(ctx, org, a.Issuer, claim.Data.Member.Subject)
}
