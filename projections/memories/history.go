package memories

import (
	"context"
	"fmt"
	"slices"
	"time"

	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
)

// Chain is a page of a memory's revisions, with what it takes to read them.
type Chain struct {
	Revisions []Revision // newest first
	Before    *Revision  // the one before the oldest of them, with body and labels as they stood; nil: there is none
	Links     []Link     // what made the memory up to the newest of them, oldest first (spec 1.2)
	Next      *reader.Key
}

// Link is what made one revision.
type Link struct {
	Revision  int              `db:"revision"`
	EventID   events.ID        `db:"event_id"`
	EventType events.Type      `db:"event_type"`
	ActorKind events.ActorKind `db:"actor_kind"`
	At        time.Time        `db:"at"`
	Whole     bool             `db:"whole"` // it brought body and labels, and has them
}

// UpTo is what made one revision.
func (c Chain) UpTo(revision int) []Link {
	n, _ := slices.BinarySearchFunc(c.Links, revision+1, func(l Link, r int) int { return l.Revision - r })
	return c.Links[:n:n]
}

// Erased reports whether the texts are destroyed. The first revision brings everything, unless it was erased.
func (c Chain) Erased() bool { return len(c.Links) == 0 || !c.Links[0].Whole }

const ofMemory = ` FROM memory_revisions WHERE organization_id = $1 AND member_id = $2::text::uuid AND memory_id = $3::text::uuid `

const (
	listRevisions = `SELECT member_id, memory_id, revision, revision_id, previous_revision_id, lifecycle, event_id, event_type,
			actor_kind, actor_id, at, body, labels, details, position` + ofMemory + `AND revision < $4::bigint ORDER BY revision DESC LIMIT $5`
	listLinks = `SELECT revision, event_id, event_type, actor_kind, at, body IS NOT NULL AND labels IS NOT NULL AS whole` +
		ofMemory + `AND revision <= $4 ORDER BY revision`
	stood = `SELECT (SELECT body` + ofMemory + `AND revision <= $4 AND body IS NOT NULL ORDER BY revision DESC LIMIT 1) AS body,
		(SELECT labels` + ofMemory + `AND revision <= $4 AND labels IS NOT NULL ORDER BY revision DESC LIMIT 1) AS labels`
	numbered = `SELECT revision` + ofMemory + `AND revision_id = $4::text::uuid`
)

// PlaceOf is a revision's key in its memory's history: its number never changes.
func PlaceOf(r Revision) reader.Key {
	return reader.Key{Position: uint64(r.Revision), ID: r.RevisionID}
}

// History is a page of a memory's revisions. Another member's is ErrNotFound like an unknown one (spec 9.5).
func History(ctx context.Context, s *reader.Session, member, memory events.ID, page reader.Page) (Chain, error) {
	rows, err := reader.Collect[Revision](ctx, s, listRevisions, s.Organisation(), member, memory, page.Start().Position, page.Ask())
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%w: memory %s", reader.ErrNotFound, memory)
	}
	if err != nil {
		return Chain{}, err
	}
	var chain Chain
	chain.Revisions, chain.Next = reader.Cut(page, rows, PlaceOf)
	if chain.Next != nil {
		if chain.Before, err = asItStood(ctx, s, rows[len(chain.Revisions)]); err != nil {
			return Chain{}, err
		}
	}
	chain.Links, err = reader.Collect[Link](ctx, s, listLinks, s.Organisation(), member, memory, rows[0].Revision)
	return chain, err
}

// asItStood fills in what the revision kept of those before it.
func asItStood(ctx context.Context, s *reader.Session, r Revision) (*Revision, error) {
	type texts struct {
		Body   events.Kept `db:"body"`
		Labels events.Kept `db:"labels"`
	}
	found, err := reader.Collect[texts](ctx, s, stood, s.Organisation(), r.MemberID, r.MemoryID, r.Revision)
	if err == nil {
		r.Body, r.Labels = found[0].Body, found[0].Labels
	}
	return &r, err
}

// Named finds where in a memory's history a revision stands.
func Named(ctx context.Context, s *reader.Session, member, memory, revision events.ID) (int, error) {
	type place struct {
		Revision int `db:"revision"`
	}
	found, err := reader.Collect[place](ctx, s, numbered, s.Organisation(), member, memory, revision)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: revision %s of memory %s", reader.ErrNotFound, revision, memory)
	}
	if err != nil {
		return 0, err
	}
	return found[0].Revision, nil
}
