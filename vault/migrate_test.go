package vault_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/internal/testkit"
	"iris.example/iris/vault"
)

func TestSixteenStartersMigrateAsOne(t *testing.T) {
	t.Parallel()
	// Half of them on a second database: roles belong to the server.
	one, two := testkit.Postgres(t), testkit.Postgres(t)
	var group errgroup.Group
	for i := range 16 {
		db := []*testkit.Database{one, two}[i%2]
		group.Go(func() error { return vault.Migrate(t.Context(), db.URL(db.Superuser())) })
	}
	require.NoError(t, group.Wait())
	require.NoError(t, vault.Migrate(t.Context(), one.URL(one.Superuser())))
}

func TestTheApplicationsRoleOwnsNothingAndCannotMore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := pgx.Connect(t.Context(), b.db.URL(vault.Role))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for _, sql := range []string{
		`CREATE TABLE vault.x ()`,
		`CREATE TABLE public.x ()`,
		`DROP TABLE vault.members`,
		`TRUNCATE vault.data_keys`,
		`UPDATE vault.organisation_keys SET wrapped = ''`,
		`DELETE FROM vault.organisation_keys`,
		`UPDATE vault.holder_keys SET holder = gen_random_uuid()`,
		`UPDATE vault.data_keys SET organisation = 'globex'`,
		`UPDATE vault.members SET identity = ''`,
		`UPDATE vault.master_proofs SET box = ''`,
		`DELETE FROM vault.master_proofs`,
		`CREATE ROLE other`,
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.ErrorContains(t, err, "42501", sql)
	}
	var owned int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relowner = current_user::regrole`).Scan(&owned))
	require.Zero(t, owned)
}

// The canary: nothing that was sealed, no name, no identity and no unwrapped key stands in any column of the database.
func TestNothingStandsInTheTablesInClear(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, ref := range b.classes() {
		b.opens(b.Vault, ref, b.seal(ref))
	}
	_, _, err := b.Register(t.Context(), org, "https://issuer-canary.example", "subject-canary", "name-canary")
	require.NoError(t, err)
	secrets := b.Secrets()
	require.Greater(t, len(secrets), 10)
	canaries := append(secrets, text, []byte("issuer-canary"), []byte("subject-canary"), []byte("name-canary"))

	dump := b.dump()
	require.Contains(t, string(dump), org, "the dump is empty")
	for _, canary := range canaries {
		require.False(t, bytes.Contains(dump, canary), "found in the tables: %q", canary)
		require.False(t, bytes.Contains(dump, []byte(hex.EncodeToString(canary))), "found in the tables: %q", canary)
	}
}

// dump is every row of every table, byteas in hex.
func (b *bundle) dump() []byte {
	conn := b.connect()
	defer conn.Close(context.Background())
	rows, err := conn.Query(b.t.Context(), `SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace IN ('vault'::regnamespace, 'public'::regnamespace)`)
	require.NoError(b.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b.t, err)
	require.Contains(b.t, tables, "vault.members")
	var out bytes.Buffer
	for _, table := range tables {
		_, err := conn.PgConn().CopyTo(b.t.Context(), &out, fmt.Sprintf("COPY %s TO STDOUT", table))
		require.NoError(b.t, err)
	}
	return out.Bytes()
}

func TestConfigIsCheckedBeforeAnythingIsOpened(t *testing.T) {
	t.Parallel()
	b := setup(t)
	master, err := vault.OpenMasterKey(b.master)
	require.NoError(t, err)
	for name, change := range map[string]func(*vault.Config){
		"no url":          func(c *vault.Config) { c.URL = "" },
		"not a url":       func(c *vault.Config) { c.URL = "postgres://user:hunter2@[" },
		"simple protocol": func(c *vault.Config) { c.URL += "&default_query_exec_mode=simple_protocol" },
		"no master":       func(c *vault.Config) { c.Master = nil },
		"a key too long":  func(c *vault.Config) { c.KeyTTL = time.Minute },
		"a block of one":  func(c *vault.Config) { c.Block = 1 },
		"an old block":    func(c *vault.Config) { c.BlockAge = 24 * time.Hour },
		"no cache":        func(c *vault.Config) { c.CacheLimit = -1 },
		"no time":         func(c *vault.Config) { c.LoadTimeout = -1 },
	} {
		cfg := vault.Config{URL: b.db.URL(vault.Role), Master: master}
		change(&cfg)
		_, err := vault.Open(t.Context(), cfg)
		require.ErrorIs(t, err, vault.ErrConfig, name)
		require.NotContains(t, err.Error(), "hunter2")
	}
	require.ErrorIs(t, vault.Migrate(t.Context(), "postgres://user:hunter2@["), vault.ErrConfig)
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	b := setup(t)
	running := goleak.IgnoreCurrent()
	v := b.start()
	_, err := v.Allocate(t.Context(), org)
	require.NoError(t, err)
	v.Close()
	require.Zero(t, v.Cached())
	require.NoError(t, goleak.Find(running))
}
