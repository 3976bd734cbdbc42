package vault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/events"
	"iris.example/iris/vault"
)

// held locks the directory until it is let go, so that a query of it stays away.
func (b *bundle) held() (letGo func()) {
	b.t.Helper()
	conn := b.connect()
	b.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(b.t.Context())
	require.NoError(b.t, err)
	_, err = tx.Exec(b.t.Context(), `LOCK TABLE vault.members IN ACCESS EXCLUSIVE MODE`)
	require.NoError(b.t, err)
	return func() {
		b.t.Helper()
		require.NoError(b.t, tx.Commit(b.t.Context()))
	}
}

// lockedOut counts the queries that wait for the directory.
func (b *bundle) lockedOut() (n int) {
	b.t.Helper()
	conn := b.connect()
	defer conn.Close(context.Background())
	require.NoError(b.t, conn.QueryRow(b.t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'vault.members'::regclass`).Scan(&n))
	return n
}

func (b *bundle) register(org string, n int) (ids []events.ID) {
	b.t.Helper()
	for i := range n {
		id, _, err := b.Register(b.t.Context(), org, issuer, fmt.Sprint("member-", i), "Somebody")
		require.NoError(b.t, err)
		ids = append(ids, id)
	}
	return ids
}

// While a query is away, those who ask gather, of whatever organisation, and each is answered for itself.
func TestWhoAsksTheDirectoryAtOnceIsAnsweredTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.EnsureOrganisation(t.Context(), "globex"))
	const members = 40
	orgs := []string{org, "globex"}
	ids := map[string][]events.ID{org: b.register(org, members), "globex": b.register("globex", members)}
	_, _, err := b.Resolve(t.Context(), org, issuer, "member-0") // connections and keys are there
	require.NoError(t, err)

	letGo := b.held()
	before := b.Acquired()
	var group errgroup.Group
	group.Go(func() error { _, _, err := b.Resolve(t.Context(), org, issuer, "member-0"); return err })
	group.Go(func() error { _, err := b.MemberExists(t.Context(), org, ids[org][0]); return err })
	require.Eventually(t, func() bool { return b.lockedOut() == 2 }, time.Minute, time.Millisecond, "one query of each kind is away")
	for _, name := range orgs {
		for n := range members + 1 { // the last is nobody
			group.Go(func() error {
				id, found, err := b.Resolve(t.Context(), name, issuer, fmt.Sprint("member-", n))
				if want := n < members; err == nil && (found != want || want && id != ids[name][n]) {
					err = fmt.Errorf("member %d of %s: found %v", n, name, found)
				}
				return err
			})
			group.Go(func() error {
				asked := newID(t)
				if n < members {
					asked = ids[name][n]
				}
				exists, err := b.MemberExists(t.Context(), name, asked)
				if err == nil && exists != (n < members) {
					err = fmt.Errorf("member %d of %s: exists %v", n, name, exists)
				}
				return err
			})
		}
	}
	const asked = 2 * 2 * (members + 1)
	require.Eventually(t, func() bool { return b.Asked() == asked }, time.Minute, time.Millisecond)
	letGo()
	require.NoError(t, group.Wait())
	require.EqualValues(t, 4, b.Acquired()-before, "trips to the database")
	require.Zero(t, b.Asked())
}

// Nobody is told of a member who was removed before they asked, whatever query was away then.
func TestALookupSeesWhatWasRemovedBeforeIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.register(org, 50)
	ctx, stop := context.WithCancel(t.Context())
	var others errgroup.Group
	for range 4 { // keep queries away all the time
		others.Go(func() error {
			for ctx.Err() == nil {
				for n, id := range ids {
					_, _, _ = b.Resolve(ctx, org, issuer, fmt.Sprint("member-", n))
					_, _ = b.MemberExists(ctx, org, id)
				}
			}
			return nil
		})
	}
	for n, id := range ids {
		require.NoError(t, b.Unregister(t.Context(), org, id))
		_, found, err := b.Resolve(t.Context(), org, issuer, fmt.Sprint("member-", n))
		require.NoError(t, err)
		require.False(t, found)
		exists, err := b.MemberExists(t.Context(), org, id)
		require.NoError(t, err)
		require.False(t, exists)
	}
	stop()
	require.NoError(t, others.Wait())
}

// Who no longer waits takes nothing from those who do.
func TestOneLookupThatIsGivenUpLeavesTheOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.register(org, 2)
	letGo := b.held()
	ctx, giveUp := context.WithCancel(t.Context())
	gone, stays := make(chan error, 1), make(chan error, 1)
	go func() { _, err := b.MemberExists(ctx, org, ids[0]); gone <- err }()
	go func() {
		exists, err := b.MemberExists(t.Context(), org, ids[1])
		if !exists {
			err = errors.Join(err, errors.New("not found"))
		}
		stays <- err
	}()
	require.Eventually(t, func() bool { return b.lockedOut() == 1 }, time.Minute, time.Millisecond)
	giveUp()
	require.ErrorIs(t, <-gone, context.Canceled)
	letGo()
	require.NoError(t, <-stays)
}

// A directory that can't be asked is an error to each who asked, and no answer; afterwards it is asked again.
func TestADirectoryThatFailsSaysSoToEveryone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.register(org, 3)
	b.owner(`ALTER TABLE vault.members RENAME TO elsewhere`)
	var group errgroup.Group
	for _, id := range ids {
		group.Go(func() error {
			if exists, err := b.MemberExists(t.Context(), org, id); exists || !errors.Is(err, vault.ErrStore) {
				return fmt.Errorf("exists %v: %w", exists, err)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	b.owner(`ALTER TABLE vault.elsewhere RENAME TO members`)
	exists, err := b.MemberExists(t.Context(), org, ids[0])
	require.NoError(t, err)
	require.True(t, exists)
	b.Close()
	_, err = b.MemberExists(t.Context(), org, ids[0])
	require.ErrorIs(t, err, vault.ErrClosed)
}
