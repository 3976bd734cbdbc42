package vault

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"iris.example/iris/events"
)

// allocated is a data-key row as it stands in the database.
type allocated struct {
	ID      uuid.UUID
	Wrapped []byte
}

// stock is one organisation's rows that are committed and not handed out yet.
type stock struct {
	mu     sync.Mutex // guards what follows
	blocks []block
	refill *refill // under way, or nil
}

type block struct {
	rows []allocated
	made time.Time
}

// refill is one block on its way; err is set before done closes.
type refill struct {
	done chan struct{}
	err  error
}

// Allocate hands out the id of a data-key row that is durable already. Half a block before the end the next one is fetched, so
// that a caller waits for the database only when more are needed than a round trip brings. An id that is never used is lost;
// its row is swept later (see Unclaimed).
func (v *Vault) Allocate(ctx context.Context, org string) (events.ID, error) {
	if org == "" {
		return "", fmt.Errorf("allocate a data-key row: %w: no organisation", ErrReference)
	}
	s := v.stock(org)
	for {
		now := v.cfg.Now()
		row, waitFor, err := v.take(s, org, now)
		if err != nil {
			return "", fmt.Errorf("allocate a data-key row: %w", err)
		}
		if waitFor == nil {
			id := writeID(row.ID)
			v.ring.hand(id, handed{org, row.Wrapped, now.Add(v.cfg.KeyTTL)})
			return id, nil
		}
		select {
		case <-waitFor.done:
			if waitFor.err != nil {
				return "", fmt.Errorf("allocate a data-key row: %w", waitFor.err)
			}
		case <-ctx.Done():
			return "", fmt.Errorf("allocate a data-key row: %w", context.Cause(ctx))
		}
	}
}

func (v *Vault) stock(org string) *stock {
	if s, ok := v.stocks.Load(org); ok {
		return s.(*stock)
	}
	s, _ := v.stocks.LoadOrStore(org, &stock{})
	return s.(*stock)
}

// take returns a row, or the refill to wait for.
func (v *Vault) take(s *stock, org string, now time.Time) (allocated, *refill, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveUpOld(now.Add(-v.cfg.BlockAge))
	if s.size() <= v.cfg.Block/2 && s.refill == nil {
		r := &refill{done: make(chan struct{})}
		if v.work(func() { v.fill(s, r, org) }) {
			s.refill = r
		}
	}
	if len(s.blocks) == 0 && s.refill == nil {
		return allocated{}, nil, ErrClosed
	}
	if len(s.blocks) == 0 {
		return allocated{}, s.refill, nil
	}
	first := &s.blocks[0]
	row := first.rows[len(first.rows)-1]
	if first.rows = first.rows[:len(first.rows)-1]; len(first.rows) == 0 {
		s.blocks = s.blocks[1:]
	}
	return row, nil, nil
}

// giveUpOld forgets blocks long before their rows could be swept under the hands of whoever got one.
func (s *stock) giveUpOld(before time.Time) {
	for len(s.blocks) > 0 && s.blocks[0].made.Before(before) {
		s.blocks = s.blocks[1:]
	}
}

func (s *stock) size() (n int) {
	for _, b := range s.blocks {
		n += len(b.rows)
	}
	return n
}

func (v *Vault) fill(s *stock, r *refill, org string) {
	made := v.cfg.Now()
	ctx, cancel := context.WithTimeout(v.running, v.cfg.LoadTimeout)
	defer cancel()
	rows, err := v.commitBlock(ctx, org)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.blocks = append(s.blocks, block{rows, made})
	}
	r.err, s.refill = err, nil
	close(r.done)
}

// commitBlock returns rows only after their commit. On an error they may be there all the same; nothing takes them back.
func (v *Vault) commitBlock(ctx context.Context, org string) ([]allocated, error) {
	root, _, err := v.key(ctx, rootOf(org), purposeRoot, uuid.Nil)
	if err != nil {
		return nil, err
	}
	rows := make([]allocated, v.cfg.Block)
	ids, wrapped := make([]uuid.UUID, len(rows)), make([][]byte, len(rows))
	for i := range rows {
		if ids[i], err = newUUID(); err != nil {
			return nil, err
		}
		secret := newKey()
		wrapped[i] = sealBox(root.id, root.wrap, rowAAD(org, ids[i]), secret[:])
		rows[i] = allocated{ids[i], wrapped[i]}
	}
	_, err = v.pool.Exec(ctx, `INSERT INTO vault.data_keys (id, organisation, wrapped)
		SELECT id, $1, wrapped FROM unnest($2::uuid[], $3::bytea[]) AS made (id, wrapped)`, org, ids, wrapped)
	if err != nil {
		return nil, storeError("commit a block of data-key rows", err)
	}
	return rows, nil
}

// Claim marks rows that an event names, so that they aren't taken for unused.
func (v *Vault) Claim(ctx context.Context, rows ...events.ID) error {
	ids, err := parseIDs("row", rows)
	if err != nil {
		return fmt.Errorf("claim data-key rows: %w", err)
	}
	if _, err := v.pool.Exec(ctx, `UPDATE vault.data_keys SET claimed = true WHERE id = ANY ($1) AND NOT claimed`, ids); err != nil {
		return storeError("claim data-key rows", err)
	}
	return nil
}
