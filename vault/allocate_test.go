package vault_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/events"
	"iris.example/iris/vault"
)

func errorsIs(err, target error) bool { return errors.Is(err, target) }

func TestAllocatedRowsAreDurableAndNeverTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	vaults := []*vault.Vault{b.Vault, b.start()}
	var mu sync.Mutex
	seen := map[events.ID]bool{}
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			for range 100 {
				id, err := vaults[i%2].Allocate(t.Context(), org)
				if err != nil {
					return err
				}
				mu.Lock()
				if seen[id] {
					err = errors.New("handed out twice")
				}
				seen[id] = true
				mu.Unlock()
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, seen, 800)
	conn := b.connect()
	defer conn.Close(context.Background())
	for id := range seen {
		var claimed bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT claimed FROM vault.data_keys WHERE id = $1 AND organisation = $2`, string(id), org).Scan(&claimed))
		require.False(t, claimed)
	}
}

func TestTheSteadyStateMakesNoRoundTrip(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.member()
	b.row()
	b.Refilled(org)
	before := b.Acquired()
	for range 30 {
		b.seal(b.memory(m)) // the first use of a row needs none either
	}
	require.Equal(t, before, b.Acquired())
	for range 2 { // past half of the block
		b.row()
	}
	b.Refilled(org)
	require.Equal(t, before+1, b.Acquired(), "the next block was not fetched ahead")
}

func TestAnOldBlockIsGivenUpButNotDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.row()
	b.clock.advance(time.Hour + time.Second)
	second := b.row()
	conn := b.connect()
	defer conn.Close(context.Background())
	var rows, sameBlock int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE created_at = (SELECT created_at FROM vault.data_keys WHERE id = $1))
		FROM vault.data_keys WHERE id IN ($1, $2) OR TRUE`, string(first), string(second)).Scan(&rows, &sameBlock))
	require.Equal(t, 128, rows)
	require.Equal(t, 64, sameBlock)
	var made [2]time.Time
	for i, id := range []events.ID{first, second} {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT created_at FROM vault.data_keys WHERE id = $1`, string(id)).Scan(&made[i]))
	}
	require.True(t, made[1].After(made[0]))
}

func TestAllocateFailsWithItsCauseAndRecovers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Allocate(t.Context(), "nobody")
	require.ErrorIs(t, err, events.ErrKeyUnavailable)
	_, err = b.Allocate(t.Context(), "")
	require.ErrorIs(t, err, vault.ErrReference)

	b.owner(`REVOKE INSERT ON vault.data_keys FROM iris_vault`)
	_, err = b.Allocate(t.Context(), org)
	require.ErrorIs(t, err, vault.ErrStore)
	b.owner(`GRANT INSERT ON vault.data_keys TO iris_vault`)
	b.row()

	b.Refilled(org)
	b.Close()
	for range 64 {
		if _, err = b.Allocate(t.Context(), org); err != nil {
			break
		}
	}
	for err == nil {
		_, err = b.Allocate(t.Context(), org)
	}
	require.ErrorIs(t, err, vault.ErrClosed)
}

func TestUnclaimedRowsShowAfterADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.clock.advance(time.Until(b.clock.now())) // created_at is the database's clock
	claimed := b.row()
	b.Refilled(org)
	require.NoError(t, b.Claim(t.Context(), claimed))
	b.owner(`UPDATE vault.data_keys SET created_at = $1`, b.clock.now().Add(-24*time.Hour+time.Minute))
	unused, err := b.Unclaimed(t.Context(), 1000)
	require.NoError(t, err)
	require.Empty(t, unused)
	b.clock.advance(2 * time.Minute)
	unused, err = b.Unclaimed(t.Context(), 1000)
	require.NoError(t, err)
	require.Len(t, unused, 63)
	require.NotContains(t, unused, claimed)
}
