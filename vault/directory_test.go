package vault_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/events"
	"iris.example/iris/vault"
)

const issuer = "https://login.example"

func TestTheDirectoryKnowsWhoRegistered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.EnsureOrganisation(t.Context(), "globex"))
	_, found, err := b.Resolve(t.Context(), org, issuer, "ann")
	require.NoError(t, err)
	require.False(t, found)

	ann, created, err := b.Register(t.Context(), org, issuer, "ann", "Ann Example")
	require.NoError(t, err)
	require.True(t, created)
	again, created, err := b.Register(t.Context(), org, issuer, "ann", "Somebody Else")
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, ann, again)

	other := b.start()
	got, found, err := other.Resolve(t.Context(), org, issuer, "ann")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, ann, got)
	name, found, err := other.DisplayName(t.Context(), org, ann)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "Ann Example", name)
	exists, err := other.MemberExists(t.Context(), org, ann)
	require.NoError(t, err)
	require.True(t, exists)

	// Nobody else is she: not under another issuer, another split of the two, or in another organisation.
	for _, who := range [][3]string{{org, issuer + "a", "nn"}, {org, "https://other.example", "ann"}, {"globex", issuer, "ann"}} {
		_, found, err := b.Resolve(t.Context(), who[0], who[1], who[2])
		require.NoError(t, err)
		require.False(t, found, who)
	}
	exists, err = b.MemberExists(t.Context(), "globex", ann)
	require.NoError(t, err)
	require.False(t, exists)
	_, found, err = b.DisplayName(t.Context(), "globex", ann)
	require.NoError(t, err)
	require.False(t, found)
}

func TestTheFirstRegistrationWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	vaults := []*vault.Vault{b.Vault, b.start(), b.start(), b.start()}
	ids := make([]events.ID, 16)
	var firsts atomic.Int32
	var group errgroup.Group
	for i := range ids {
		group.Go(func() error {
			id, created, err := vaults[i%len(vaults)].Register(t.Context(), org, issuer, "ann", "Ann")
			if created {
				firsts.Add(1)
			}
			ids[i] = id
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 1, firsts.Load())
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
}

func TestUnregisterTakesTheRow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, _, err := b.Register(t.Context(), org, issuer, "ann", "Ann")
	require.NoError(t, err)
	require.NoError(t, b.Unregister(t.Context(), org, ann))
	require.NoError(t, b.Unregister(t.Context(), org, ann))
	exists, err := b.MemberExists(t.Context(), org, ann)
	require.NoError(t, err)
	require.False(t, exists)
	fresh, created, err := b.Register(t.Context(), org, issuer, "ann", "Ann")
	require.NoError(t, err)
	require.True(t, created)
	require.NotEqual(t, ann, fresh)
}

func TestANameOpensInItsRowOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, _, err := b.Register(t.Context(), org, issuer, "ann", "Ann")
	require.NoError(t, err)
	_, _, err = b.Register(t.Context(), org, issuer, "bob", "Bob")
	require.NoError(t, err)
	b.owner(`UPDATE vault.members a SET name = b.name FROM vault.members b WHERE a.id <> b.id`)
	_, _, err = b.DisplayName(t.Context(), org, ann)
	require.ErrorIs(t, err, events.ErrTampered)
}

func TestTheDirectoryRefusesHalfAnIdentity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, who := range [][3]string{{"", issuer, "ann"}, {org, "", "ann"}, {org, issuer, ""}} {
		_, _, err := b.Register(t.Context(), who[0], who[1], who[2], "Ann")
		require.ErrorIs(t, err, vault.ErrReference)
		_, _, err = b.Resolve(t.Context(), who[0], who[1], who[2])
		require.ErrorIs(t, err, vault.ErrReference)
	}
	_, _, err := b.Resolve(t.Context(), "nobody", issuer, "ann")
	require.ErrorIs(t, err, events.ErrKeyUnavailable)
}

func TestAMemberIsRenamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.EnsureOrganisation(t.Context(), "globex"))
	ann, _, err := b.Register(t.Context(), org, issuer, "ann", "Ann")
	require.NoError(t, err)
	require.NoError(t, b.Rename(t.Context(), org, ann, "Ann Lee"))
	require.NoError(t, b.Rename(t.Context(), "globex", ann, "Somebody Else"))
	name, found, err := b.start().DisplayName(t.Context(), org, ann)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "Ann Lee", name)
}
