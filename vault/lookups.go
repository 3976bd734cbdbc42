package vault

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Each row is found by its key, however many are asked for: a join over the lot might read a directory whole under a plan from when
// it was empty.
const (
	findIdentities = `SELECT asked.n, found.id FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS asked (organisation, identity, n),
		LATERAL (SELECT m.id FROM vault.members m WHERE m.organisation = asked.organisation AND m.identity = asked.identity LIMIT 1) AS found`
	findMembers = `SELECT asked.n, found.id FROM unnest($1::text[], $2::uuid[]) WITH ORDINALITY AS asked (organisation, id, n),
		LATERAL (SELECT m.id FROM vault.members m WHERE m.organisation = asked.organisation AND m.id = asked.id LIMIT 1) AS found`
)

// maxLookups is how many one query answers.
const maxLookups = 500

// lookups ask the directory for those who ask at the same time with one query: while one is away, what comes gathers for the next. It
// remembers nothing. A query answers only who asked before it left, so that nobody is told of a member who was removed before.
type lookups struct {
	query func(asked []*lookup) (rows string, arguments []any)

	mu    sync.Mutex // guards what follows
	away  bool
	asked []*lookup
}

// lookup asks for one row; what it found is set before done closes.
type lookup struct {
	organisation string
	identity     []byte    // either
	member       uuid.UUID // or
	done         chan struct{}
	id           uuid.UUID
	found        bool
	err          error
}

func byIdentity(asked []*lookup) (string, []any) {
	organisations, identities := make([]string, len(asked)), make([][]byte, len(asked))
	for i, a := range asked {
		organisations[i], identities[i] = a.organisation, a.identity
	}
	return findIdentities, []any{organisations, identities}
}

func byMember(asked []*lookup) (string, []any) {
	organisations, ids := make([]string, len(asked)), make([]uuid.UUID, len(asked))
	for i, a := range asked {
		organisations[i], ids[i] = a.organisation, a.member
	}
	return findMembers, []any{organisations, ids}
}

// find waits for a query that leaves after the call.
func (v *Vault) find(ctx context.Context, l *lookups, mine lookup) (id uuid.UUID, found bool, err error) {
	mine.done = make(chan struct{})
	if l.ask(&mine) && !v.work(func() { l.each(func(asked []*lookup) error { return v.answer(l, asked) }) }) {
		l.each(func([]*lookup) error { return ErrClosed })
	}
	select {
	case <-mine.done:
		return mine.id, mine.found, mine.err
	case <-ctx.Done():
		return uuid.Nil, false, fmt.Errorf("wait for the directory: %w", context.Cause(ctx))
	}
}

// ask queues a lookup and says whether somebody has to begin answering.
func (l *lookups) ask(mine *lookup) (begins bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, mine)
	begins = !l.away
	l.away = true
	return begins
}

// take takes what was asked so far. Nothing was: whoever asks next begins.
func (l *lookups) take() []*lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.asked), maxLookups)
	taken := l.asked[:n:n]
	if l.asked = l.asked[n:]; n == 0 {
		l.away, l.asked = false, nil
	}
	return taken
}

// each answers what is asked until nothing is.
func (l *lookups) each(answer func(asked []*lookup) error) {
	for taken := l.take(); len(taken) > 0; taken = l.take() {
		err := answer(taken)
		for _, a := range taken {
			a.err = err
			close(a.done)
		}
	}
}

func (v *Vault) answer(l *lookups, asked []*lookup) error {
	ctx, cancel := context.WithTimeout(v.running, v.cfg.LoadTimeout)
	defer cancel()
	query, arguments := l.query(asked)
	rows, err := v.pool.Query(ctx, query, arguments...)
	if err != nil {
		return storeError("ask the directory", err)
	}
	var n int
	var id uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&n, &id}, func() error {
		asked[n-1].id, asked[n-1].found = id, true
		return nil
	})
	if err != nil {
		return storeError("ask the directory", err)
	}
	return nil
}
