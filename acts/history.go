package acts

import (
	"context"
	"fmt"
	"slices"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/reader"
	"iris.example/iris/recall"
)

// Revision is one link of a memory's chain as its member reads it (spec 1.2, 10.3). Erased: its text is destroyed, or was taken
// back for good, and the fields of the text are empty.
type Revision struct {
	RevisionID         events.ID           `json:"revisionId"`
	PreviousRevisionID *events.ID          `json:"previousRevisionId"`
	Revision           int                 `json:"revision"`
	At                 events.Time         `json:"at"`
	Event              events.Type         `json:"event"`
	Lifecycle          events.Lifecycle    `json:"lifecycle"`
	Erased             bool                `json:"erased"`
	Body               string              `json:"body"`
	Category           events.Category     `json:"category"`
	Subject            string              `json:"subject"`
	Scope              *events.Scope       `json:"scope"`
	ProvenanceChain    []recall.Provenance `json:"provenanceChain"`
	Difference         *Difference         `json:"difference"` // to the revision before; nil: there is none, or a text is gone
	Position           string              `json:"position"`
}

// Difference is what a revision changed.
type Difference struct {
	Body   []Piece       `json:"body"` // the whole text, piece by piece; empty where it stayed
	Labels []LabelChange `json:"labels"`
}

// LabelChange is a label before and after. Empty: none.
type LabelChange struct {
	Label string `json:"label"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// History is a page of a memory's chain of revisions, newest first. What is gone for good keeps its chain and says that it was erased.
func (a *Acts) History(ctx context.Context, c Caller, memory events.ID, page reader.Page) (Page[Revision], error) {
	if _, err := c.asMember(); err != nil {
		return Page[Revision]{}, err
	}
	var record memories.Record
	var chain memories.Chain
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		if record, err = memories.Get(ctx, s, c.Member, memory); err != nil {
			return err
		}
		chain, err = memories.History(ctx, s, c.Member, memory, page)
		return err
	})
	if err != nil {
		return Page[Revision]{}, notFound(err)
	}
	now := events.At(a.Now())
	withheld := chain.Erased() || gone(record, now)
	err = a.Members.Look(ctx, c.Organisation, events.Member(c.Member), func(book *member.State, _ uint64) error {
		withheld = withheld || goneFrom(book, memory, now)
		return nil
	})
	if err != nil {
		return Page[Revision]{}, err
	}
	revisions, err := a.openChain(ctx, chain, withheld)
	return Page[Revision]{Items: revisions, Next: chain.Next}, err
}

// revision is one of a memory's, by its id.
func (a *Acts) revision(ctx context.Context, c Caller, memory, id events.ID) (*Revision, error) {
	var at int
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		at, err = memories.Named(ctx, s, c.Member, memory, id)
		return err
	})
	if err != nil {
		return nil, notFound(err)
	}
	found, err := a.History(ctx, c, memory, reader.Page{Before: &reader.Key{Position: uint64(at) + 1}, Limit: 1})
	if err != nil {
		return nil, err
	}
	return &found.Items[0], nil
}

// openChain opens a page from the revision before it on, because each builds on the one before.
func (a *Acts) openChain(ctx context.Context, chain memories.Chain, withheld bool) ([]Revision, error) {
	all := make([]Revision, 0, len(chain.Revisions))
	var previous *Revision
	if chain.Before != nil {
		previous = &Revision{Lifecycle: chain.Before.Lifecycle, Erased: withheld}
		if err := a.openRevision(ctx, previous, *chain.Before, nil); err != nil {
			return nil, err
		}
	}
	for _, row := range slices.Backward(chain.Revisions) {
		revision := revisionOf(row, provenance(chain.UpTo(row.Revision)), withheld)
		if err := a.openRevision(ctx, &revision, row, previous); err != nil {
			return nil, err
		}
		all = append(all, revision)
		previous = &all[len(all)-1]
	}
	slices.Reverse(all)
	return all, nil
}

func provenance(links []memories.Link) []recall.Provenance {
	all := make([]recall.Provenance, 0, len(links))
	for _, l := range links {
		all = append(all, recall.Provenance{EventID: string(l.EventID), Type: l.EventType, ActorKind: l.ActorKind, Time: events.At(l.At)})
	}
	return all
}

// gone: tombstoned, or past the instant at which a forget becomes final, whether the sweep has come by or not (spec 2.1).
func gone(r memories.Record, now events.Time) bool {
	return r.Lifecycle == events.LifecycleTombstoned || r.ForgetAt != nil && !r.ForgetAt.After(now.Time)
}

// goneFrom asks the book, which knows of a sweep before the sweep has named the memory to the read models (spec 9.2).
func goneFrom(book *member.State, memory events.ID, now events.Time) bool {
	entry, ok := book.Entries[memory]
	return ok && entry.Gone(now)
}

func revisionOf(row memories.Revision, chain []recall.Provenance, withheld bool) Revision {
	return Revision{
		RevisionID: row.RevisionID, PreviousRevisionID: row.PreviousRevisionID, Revision: row.Revision, At: events.At(row.At),
		Event: row.EventType, Lifecycle: row.Lifecycle, Erased: withheld, ProvenanceChain: chain, Position: fmt.Sprint(row.Position),
	}
}

// openRevision opens what the revision brought and takes the rest from the one before.
func (a *Acts) openRevision(ctx context.Context, r *Revision, row memories.Revision, previous *Revision) error {
	if r.Erased {
		return nil
	}
	if previous != nil {
		r.Body, r.Category, r.Subject, r.Scope = previous.Body, previous.Category, previous.Subject, previous.Scope
	}
	var err error
	if row.Body != nil {
		if r.Body, err = events.Open[string](ctx, a.Keys, row.Body); err != nil {
			return err
		}
	}
	if row.Labels != nil {
		labels, err := events.Open[events.Labels](ctx, a.Keys, row.Labels)
		if err != nil {
			return err
		}
		r.Category, r.Subject, r.Scope = labels.Category, labels.Subject, &labels.Scope
	}
	if previous != nil {
		r.Difference = difference(previous, r)
	}
	return nil
}

func difference(before, after *Revision) *Difference {
	d := &Difference{Body: []Piece{}, Labels: []LabelChange{}}
	if before.Body != after.Body {
		d.Body = Compare(before.Body, after.Body)
	}
	for _, label := range []LabelChange{
		{"category", string(before.Category), string(after.Category)},
		{"subject", before.Subject, after.Subject},
		{"scope", scopeWords(before.Scope), scopeWords(after.Scope)},
		{"lifecycle", string(before.Lifecycle), string(after.Lifecycle)},
	} {
		if label.From != label.To {
			d.Labels = append(d.Labels, label)
		}
	}
	return d
}

// scopeWords is a scope's key without the member's own id, which is the same in all of them.
func scopeWords(s *events.Scope) string {
	if s == nil {
		return ""
	}
	return s.Key("me")
}
