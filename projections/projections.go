// Package projections lists the read models (spec 9.4): what is made from which stream, and what has to be erased. Each has a
// folder with its rows, its SQL, its queries and its erase handler; engine carries streams into them, reader is the way in for
// readers, migrations makes the tables. Everything in them is derived.
package projections

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
	"iris.example/iris/projections/belonging"
	"iris.example/iris/projections/consents"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/proposals"
	"iris.example/iris/projections/recalls"
	"iris.example/iris/projections/search"
	"iris.example/iris/projections/snapshots"
)

// OfOrganisation are made from an organisation's stream, in one transaction.
func OfOrganisation() []engine.Projection {
	return []engine.Projection{memories.Projection{}, proposals.Projection{}, consents.Projection{}, belonging.Projection{}}
}

// OfAccess are made from an organisation's access stream.
func OfAccess() []engine.Projection { return []engine.Projection{recalls.Projection{}} }

// OfSearch are made from an organisation's stream too, by a line of their own that may lag.
func OfSearch() []engine.Projection { return []engine.Projection{search.Projection{}} }

// Line is what carries some read models of an organisation: its name, its stream, and what it does about poison.
type Line struct {
	Name        string
	Stream      string
	Projections []engine.Projection
	Opens       []string // the sealed fields whose text the projections need; the rest stays closed
	Park        bool     // else it stops: consent, visibility and expiry fail closed (spec 9.4)
	Words       bool     // texts reach the projections as keyed words only
}

// Decoder reads commits as the line's projections need them.
func (l Line) Decoder(codec events.Codec) (engine.Decoder, error) {
	commits := codec.Opening(l.Opens...)
	if !l.Words {
		commits.Keep = true
		return commits, nil
	}
	keys, err := search.KeysOf(codec)
	if err != nil {
		return nil, err
	}
	return search.Decoder{Commits: commits, Keys: keys}, nil
}

// Lines are all lines of an organisation. Whoever adds a read model adds it here, and is rebuilt with the others.
func Lines(org string) []Line {
	stream, access := events.StreamFor(org), events.AccessStreamFor(org)
	return []Line{
		{Name: stream, Stream: stream, Projections: OfOrganisation(), Opens: []string{"labels", "record"}},
		{Name: access, Stream: access, Projections: OfAccess(), Opens: []string{"ask"}, Park: true},
		{Name: search.LineOf(org), Stream: stream, Projections: OfSearch(), Opens: search.Opens(), Park: true, Words: true},
	}
}

// Beginner is a pool or a connection of iris_projector.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Erasure is what is no more: memories of one member. Position is that of the commit that says so, from which on nothing of them is
// folded.
type Erasure struct {
	Member   events.ID
	Memories []events.ID
	Position uint64
}

// Erase removes sealed text and labels of memories from every read model that has them, in what is read, in what is kept for
// rolling back and in what is being built, and the snapshot of the member's book, all or nothing. It can be repeated. Recalls and
// consents hold nothing of a memory but its id.
func Erase(ctx context.Context, db Beginner, org string, what Erasure) error {
	if org == "" || what.Member == "" {
		return fmt.Errorf("erase %d memories: no organisation or no member named", len(what.Memories))
	}
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := snapshots.Erase(ctx, tx, org, what.Member, what.Position); err != nil {
			return err
		}
		schemas, err := versions(ctx, tx)
		if err != nil {
			return fmt.Errorf("erase %d memories: %w", len(what.Memories), err)
		}
		for _, schema := range schemas {
			if err := eraseIn(ctx, tx, schema, org, what.Memories); err != nil {
				return err
			}
		}
		return nil
	})
}

// versions are the schemas with read models. A flip waits for whoever looked: it needs the cursors for itself.
func versions(ctx context.Context, tx pgx.Tx) ([]string, error) {
	if _, err := tx.Exec(ctx, "LOCK TABLE "+migrations.Schema+".cursors IN ROW EXCLUSIVE MODE"); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `SELECT nspname::text FROM pg_namespace
		WHERE nspname ~ '^iris(_build|_kept_[0-9]+)?$' AND to_regclass(nspname || '.proposals') IS NOT NULL ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func eraseIn(ctx context.Context, tx pgx.Tx, schema, org string, ids []events.ID) error {
	if _, err := tx.Exec(ctx, "SELECT set_config('search_path', $1, true)", schema); err != nil {
		return fmt.Errorf("erase %d memories in %s: %w", len(ids), schema, err)
	}
	if err := memories.Erase(ctx, tx, org, ids); err != nil {
		return err
	}
	if err := search.Erase(ctx, tx, org, ids); err != nil {
		return err
	}
	return proposals.Erase(ctx, tx, org, ids)
}
