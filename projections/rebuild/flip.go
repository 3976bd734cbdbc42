package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"iris.example/iris/projections/migrations"
)

const (
	lockWait   = 30 * time.Second
	readerWait = 15 * time.Second
	readerPoll = 5 * time.Millisecond
	flipTries  = 4
	// swapped is a name for the moment in which two schemas change theirs.
	swapped = "iris_swap"
)

// flip puts candidate in the place of what is read, which gets the name kept. In this order, so that nobody sees two versions:
//
//   - Lines are held off the cursors; readers aren't. Every transaction that writes rows begins there.
//   - What those lines did since the comparison is done in candidate too: both stand at the same positions now.
//   - Readers that began before that are waited for: in candidate they wouldn't see its last commits.
//   - The schemas change their names, in the transaction that holds the lines. A line that waited plans its statements anew, by name.
//
// A reader that doesn't let go in time costs one try: the lines go on meanwhile, and what was built is kept for the next. PostgreSQL
// itself ends a reader that has forgotten its transaction (reader.Config), before the tries are over.
func (r *run) flip(ctx context.Context, candidate, kept string) error {
	r.say(Progress{Stage: Flipping})
	for try := 1; ; try++ {
		err := r.flipOnce(ctx, candidate, kept)
		if !errors.Is(err, ErrBusy) || try == flipTries || ctx.Err() != nil {
			return err
		}
	}
}

func (r *run) flipOnce(ctx context.Context, candidate, kept string) error {
	err := r.exec(ctx, "BEGIN", fmt.Sprintf("SET LOCAL lock_timeout = %d", lockWait.Milliseconds()))
	if err != nil {
		return err
	}
	if err := r.flipLocked(ctx, candidate, kept); err != nil {
		_, _ = r.admin.Exec(context.WithoutCancel(ctx), "ROLLBACK")
		return err
	}
	r.report.Kept = kept
	return nil
}

func (r *run) flipLocked(ctx context.Context, candidate, kept string) error {
	if err := r.exec(ctx, "LOCK TABLE "+migrations.Schema+".cursors IN EXCLUSIVE MODE"); err != nil {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	targets, err := r.positions(ctx)
	if err != nil {
		return err
	}
	if err := r.carry(ctx, candidate, targets); err != nil {
		return err
	}
	if candidate == building {
		if err := r.compareCounts(ctx); err != nil {
			return err
		}
	}
	if err := r.awaitReaders(ctx); err != nil {
		return err
	}
	return r.exec(ctx,
		fmt.Sprintf("ALTER SCHEMA %s RENAME TO %s", migrations.Schema, swapped),
		fmt.Sprintf("ALTER SCHEMA %s RENAME TO %s", candidate, migrations.Schema),
		fmt.Sprintf("ALTER SCHEMA %s RENAME TO %s", swapped, kept),
		"COMMIT",
	)
}

// compareCounts is what there is time for while lines are held: the rows were compared a moment ago.
func (r *run) compareCounts(ctx context.Context) error {
	if r.ends != nil || len(r.report.Differences) > 0 {
		return nil
	}
	tables, err := r.tables(ctx, building)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if table == "parked_commits" {
			continue
		}
		var read, built int64
		row := r.admin.QueryRow(ctx, fmt.Sprintf("SELECT (SELECT count(*) FROM %s), (SELECT count(*) FROM %s)", counted(migrations.Schema, table), counted(building, table)))
		if err := row.Scan(&read, &built); err != nil {
			return fmt.Errorf("%w: count %s: %w", ErrFailed, table, err)
		}
		r.report.Rows[table] = built
		if read != built {
			r.report.Differences = append(r.report.Differences, Difference{table, read, built})
		}
	}
	if len(r.report.Differences) > 0 && !r.accepts() {
		return fmt.Errorf("%w: %v (table, rows read, rows built)", ErrDifferent, r.report.Differences)
	}
	return nil
}

const olderReaders = `SELECT count(*) FROM pg_stat_activity
	WHERE datname = current_database() AND application_name = 'iris-reader' AND xact_start < $1`

// awaitReaders asks until every reader's transaction is younger than now.
func (r *run) awaitReaders(ctx context.Context) error {
	var now time.Time
	if err := r.admin.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
		return fmt.Errorf("%w: ask the time: %w", ErrFailed, err)
	}
	ctx, cancel := context.WithTimeout(ctx, readerWait)
	defer cancel()
	poll := time.NewTicker(readerPoll)
	defer poll.Stop()
	for {
		var older int
		if err := r.admin.QueryRow(context.WithoutCancel(ctx), olderReaders, now).Scan(&older); err != nil {
			return fmt.Errorf("%w: look for readers: %w", ErrFailed, err)
		}
		if older == 0 {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %d readers hold on to what is read (%s): %w", ErrBusy, older, r.describeReaders(ctx, now), context.Cause(ctx))
		}
	}
}

// describeReaders says what the older readers are doing: states and waits, and our own statements, which hold no values.
func (r *run) describeReaders(ctx context.Context, now time.Time) string {
	var doing string
	err := r.admin.QueryRow(context.WithoutCancel(ctx), `SELECT coalesce(string_agg(concat_ws(' ', state, wait_event_type, wait_event, left(query, 60)), '; '), 'gone')
		FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'iris-reader' AND xact_start < $1`, now).Scan(&doing)
	if err != nil {
		return "unknown"
	}
	return doing
}
