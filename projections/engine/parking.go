package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events/log"
)

var (
	ErrNotParked = errors.New("not_parked")     // nothing is parked there, or it was discarded
	ErrStillBad  = errors.New("still_parked")   // tried again, in vain
	ErrReason    = errors.New("reason_refused") // a reason is a code or a ticket, never words about a person
)

const (
	stateParked    = "parked"
	stateDiscarded = "discarded"
)

// Parked is a commit that was set aside.
type Parked struct {
	Organisation string    `db:"organization_id" json:"organizationId"`
	Line         string    `db:"line" json:"line"`
	Position     uint64    `db:"position" json:"position,string"`
	Aggregate    string    `db:"aggregate" json:"aggregate"`
	Code         string    `db:"code" json:"code"`
	State        string    `db:"state" json:"state"`
	Reason       string    `db:"reason" json:"reason"`
	Attempts     int       `db:"attempts" json:"attempts"`
	FirstSeen    time.Time `db:"first_seen" json:"firstSeen"`
}

const listParked = `SELECT organization_id, line, position, aggregate, code, state, reason, attempts, first_seen FROM parked_commits
	WHERE organization_id = $1 AND line = $2 ORDER BY position`

// Parked lists what the line set aside, what was discarded included, oldest first.
func (l *Line) Parked(ctx context.Context) (all []Parked, err error) {
	conn, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer disconnect(ctx, conn)
	rows, err := conn.Query(ctx, listParked, l.config.Organisation, l.config.Name)
	if err == nil {
		all, err = pgx.CollectRows(rows, pgx.RowToStructByName[Parked])
	}
	if err != nil {
		return nil, fmt.Errorf("list what %s parked: %w", l.config.Name, err)
	}
	return all, nil
}

// Retry applies what the aggregate of the parked position has waiting, from its first one on, as far as it goes. The cursor is held
// meanwhile and never moved. What still fails stays, and is ErrStillBad.
func (l *Line) Retry(ctx context.Context, position uint64) error { return l.release(ctx, position, "") }

var reasons = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/#-]{0,63}$`)

// Discard gives one parked commit up, which its row remembers with the reason, and applies what waited behind it. A database that
// is rebuilt from nothing parks it again: the decision is an operator's and stands in no stream.
func (l *Line) Discard(ctx context.Context, position uint64, reason string) error {
	if !reasons.MatchString(reason) {
		return fmt.Errorf("discard position %d: %w: up to 64 letters, digits and _.:/#-", position, ErrReason)
	}
	return l.release(ctx, position, reason)
}

const (
	holdCursor = `SELECT position FROM cursors WHERE organization_id = $1 AND stream = $2 FOR UPDATE`

	waitingOf = `SELECT position FROM parked_commits WHERE organization_id = $1 AND line = $2 AND state = 'parked' AND aggregate =
		(SELECT aggregate FROM parked_commits WHERE organization_id = $1 AND line = $2 AND position = $3 AND state = 'parked')
		ORDER BY position`

	discardOne = `UPDATE parked_commits SET state = 'discarded', reason = $4 WHERE organization_id = $1 AND line = $2 AND position = $3`

	releaseThese = `DELETE FROM parked_commits WHERE organization_id = $1 AND line = $2 AND position = ANY ($3::bigint[])`

	triedAgain = `UPDATE parked_commits SET code = $4, attempts = attempts + 1 WHERE organization_id = $1 AND line = $2 AND position = $3`
)

func (l *Line) release(ctx context.Context, position uint64, discard string) error {
	if l.config.Read == nil {
		return fmt.Errorf("%w: nothing to read %s with", ErrConfig, l.config.Stream)
	}
	conn, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer disconnect(ctx, conn)
	var still error
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		waiting, err := l.waiting(ctx, tx, position)
		if err != nil {
			return err
		}
		if discard != "" {
			if _, err := tx.Exec(ctx, discardOne, l.config.Organisation, l.config.Name, position, discard); err != nil {
				return err
			}
			waiting = without(waiting, position)
		}
		items, err := l.readAgain(ctx, waiting)
		if err != nil {
			return err
		}
		still, err = l.replay(ctx, tx, items)
		return err
	})
	if err != nil {
		return fmt.Errorf("release position %d of %s: %w", position, l.config.Name, err)
	}
	return still
}

// waiting takes the line's lock and lists what the aggregate has parked.
func (l *Line) waiting(ctx context.Context, tx pgx.Tx, position uint64) ([]uint64, error) {
	if _, err := tx.Exec(ctx, holdCursor, l.config.Organisation, l.config.Name); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, waitingOf, l.config.Organisation, l.config.Name, position)
	if err != nil {
		return nil, err
	}
	waiting, err := pgx.CollectRows(rows, pgx.RowTo[uint64])
	if err == nil && len(waiting) == 0 {
		err = ErrNotParked
	}
	return waiting, err
}

func without(positions []uint64, position uint64) []uint64 {
	var rest []uint64
	for _, p := range positions {
		if p != position {
			rest = append(rest, p)
		}
	}
	return rest
}

// readAgain opens the messages anew. Only poison stays an item; keys that can't be asked are an error.
func (l *Line) readAgain(ctx context.Context, positions []uint64) ([]item, error) {
	var items []item
	for _, position := range positions {
		message, err := l.config.Read(ctx, l.config.Stream, position)
		if err != nil {
			return nil, err
		}
		i := l.openEach(ctx, []log.Message{message})[0]
		if i.poison != nil && !errors.Is(i.poison, ErrPoison) {
			return nil, i.poison
		}
		items = append(items, i)
		if i.poison != nil {
			break
		}
	}
	return items, nil
}

// replay applies items up to the first that can't be, and says how that one failed.
func (l *Line) replay(ctx context.Context, tx pgx.Tx, items []item) (still, err error) {
	end := len(items)
	if end > 0 && items[end-1].poison != nil {
		end--
		still = items[end].poison
	}
	for end > 0 {
		load := &pgx.Batch{}
		changes := l.begin(load, items[:end])
		if err := tx.SendBatch(ctx, load).Close(); err != nil {
			return nil, err
		}
		_, failed := l.applyAll(changes, items[:end], newAside(0))
		var stop *unappliable
		if errors.As(failed, &stop) {
			end, still = stop.index, stop
			continue
		}
		write := &pgx.Batch{}
		for _, c := range changes {
			c.Write(write)
		}
		write.Queue(releaseThese, l.config.Organisation, l.config.Name, Column(items[:end], func(i item) uint64 { return i.commit.Position }))
		if err := tx.SendBatch(ctx, write).Close(); err != nil {
			return nil, err
		}
		break
	}
	if still == nil {
		return nil, nil
	}
	_, err = tx.Exec(ctx, triedAgain, l.config.Organisation, l.config.Name, items[end].commit.Position, codeOf(still))
	return fmt.Errorf("%w: %w", ErrStillBad, still), err
}
