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

// History is a memory's chain of revisions, newest first. What is gone for good keeps its chain and says that it was erased.
func (a *Acts) History(ctx context.Context, c Caller, memory events.ID) ([]Revision, error) {
	if _, err := c.asMember(); err != nil {
		return nil, err
	}
	var record memories.Record
	var rows []memories.Revision
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		if record, err = memories.Get(ctx, s, c.Member, memory); err != nil {
			return err
		}
		rows, err = memories.History(ctx, s, c.Member, memory)
		return err
	})
	if err != nil {
		return nil, notFound(err)
	}
	now := events.At(a.Now())
	withheld := gone(record, now)
	err = a.Members.Look(ctx, c.Organisation, events.Member(c.Member), func(book *member.State, _ uint64) error {
		withheld = withheld || goneFrom(book, memory, now)
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]Revision, 0, len(rows))
	var chain []recall.Provenance
	for _, row := range rows {
		chain = append(chain, recall.Provenance{EventID: string(row.EventID), Type: row.EventType, ActorKind: row.ActorKind, Time: events.At(row.At)})
		revision := revisionOf(row, slices.Clone(chain), withheld)
		if err := a.openRevision(ctx, &revision, row, all); err != nil {
			return nil, err
		}
		all = append(all, revision)
	}
	slices.Reverse(all)
	return all, nil
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

// openRevision opens what the revision brought and takes the rest from the one before. The first brings everything, unless it
// was erased.
func (a *Acts) openRevision(ctx context.Context, r *Revision, row memories.Revision, before []Revision) error {
	var previous *Revision
	if len(before) > 0 {
		previous = &before[len(before)-1]
	}
	if r.Erased = r.Erased || previous == nil && (row.Body == nil || row.Labels == nil) || previous != nil && previous.Erased; r.Erased {
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
