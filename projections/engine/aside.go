package engine

import "github.com/jackc/pgx/v5"

// QueuedBehind is the code of a commit that is parked only because one of its aggregate before it is.
const QueuedBehind = "queued_behind"

const (
	loadAside = `SELECT position, aggregate, state FROM parked_commits WHERE organization_id = $1 AND line = $2`

	insertAside = `INSERT INTO parked_commits (organization_id, line, position, aggregate, code, state, attempts)
		SELECT $1, $2, position, aggregate, code, 'parked', attempts
		FROM unnest($3::bigint[], $4::text[], $5::text[], $6::integer[]) AS p (position, aggregate, code, attempts)
		ON CONFLICT DO NOTHING`
)

// aside is what one transaction of a parking line doesn't apply: what is poison, and what an aggregate has behind it.
type aside struct {
	waiting   map[string]bool // aggregates with something parked
	discarded map[uint64]bool // positions that an operator gave up
	fresh     []setAside
	attempts  int // that poison had before it came here
}

type setAside struct {
	position  uint64
	aggregate string
	code      string
	attempts  int
}

func newAside(attempts int) *aside {
	return &aside{waiting: map[string]bool{}, discarded: map[uint64]bool{}, attempts: attempts}
}

func (a *aside) queueLoad(b *pgx.Batch, org, line string) {
	b.Queue(loadAside, org, line).Query(func(rows pgx.Rows) error {
		var position uint64
		var aggregate, state string
		_, err := pgx.ForEachRow(rows, []any{&position, &aggregate, &state}, func() error {
			if state == stateDiscarded {
				a.discarded[position] = true
			} else {
				a.waiting[aggregate] = true
			}
			return nil
		})
		return err
	})
}

// takes says whether an item is not to be applied, and notes what has to be parked.
func (a *aside) takes(i item) bool {
	if a.discarded[i.commit.Position] {
		return true
	}
	code, attempts := QueuedBehind, 0
	if i.poison != nil {
		code, attempts = codeOf(i.poison), a.attempts
	} else if !a.waiting[i.aggregate] {
		return false
	}
	a.waiting[i.aggregate] = true
	a.fresh = append(a.fresh, setAside{i.commit.Position, i.aggregate, code, attempts})
	return true
}

func (a *aside) queueNew(b *pgx.Batch, org, line string) {
	if len(a.fresh) == 0 {
		return
	}
	b.Queue(insertAside, org, line,
		Column(a.fresh, func(s setAside) uint64 { return s.position }),
		Column(a.fresh, func(s setAside) string { return s.aggregate }),
		Column(a.fresh, func(s setAside) string { return s.code }),
		Column(a.fresh, func(s setAside) int { return s.attempts }))
}
