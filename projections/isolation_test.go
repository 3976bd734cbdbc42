package projections_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/proposals"
	"iris.example/iris/projections/reader"
)

// These are the migrations' own, and hold nothing of an organisation: readers have no right to the first and see one number in the other.
const (
	gooseTable   = "goose_db_version"
	editionTable = "edition"
)

// twoOrganisations projects the same ids into two organisations, so that every table has rows of both.
func twoOrganisations(t testing.TB) (*bundle, *stream) {
	b := setup(t)
	var s *stream
	for _, org := range []string{"acme", "umbra"} {
		s = story(org)
		s.skip(1)
		s.commit(s.commits[0].Aggregate.ID, s.stated("after a gap"))
		s.commit(s.commits[0].Aggregate.ID, &events.RoleGiven{Role: "reviewer"})
		b.project(s)
		b.project(s, overSearch(s))
		access := newStream(org)
		access.recall(access.resolved(access.id()))
		access.recall(access.resolved(access.id()))
		access.messages[1].Body = []byte("[]")
		b.project(access, overAccess(access))
	}
	return b, s
}

// everyTable walks the catalogue: a table that somebody adds is tested without being named here.
func (b *bundle) everyTable() []string {
	b.t.Helper()
	rows, err := b.super.Query(context.Background(), `SELECT relname::text FROM pg_class
		WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1`, migrations.Schema)
	require.NoError(b.t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b.t, err)
	return slices.DeleteFunc(names, func(name string) bool { return name == gooseTable || name == editionTable })
}

func TestEveryTableForcesRowLevelSecurity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := b.everyTable()
	require.ElementsMatch(t, tables, names, "the tests' own list is whole")
	for _, name := range names {
		var kind, owner, policy string
		var enabled, forced bool
		require.NoError(t, b.super.QueryRow(t.Context(), `SELECT relkind::text, relrowsecurity, relforcerowsecurity, relowner::regrole::text,
				(SELECT string_agg(pg_get_expr(polqual, polrelid), ';') FROM pg_policy WHERE polrelid = c.oid)
			FROM pg_class c WHERE oid = to_regclass($1)`, name).Scan(&kind, &enabled, &forced, &owner, &policy))
		require.Equal(t, "r", kind, "%s: a view would need security_invoker", name)
		require.True(t, enabled && forced, name)
		require.Equal(t, migrations.Owner, owner, name)
		require.Equal(t, "(organization_id = NULLIF(current_setting('iris.organization_id'::text, true), ''::text))", policy, name)
	}
}

// seen counts the rows of a table that a role sees, and how many of them are not the organisation's.
func seen(t testing.TB, tx pgx.Tx, table, org string) (all, foreign int) {
	t.Helper()
	row := tx.QueryRow(context.Background(), fmt.Sprintf("SELECT count(*), count(*) FILTER (WHERE organization_id <> $1) FROM %s", table), org)
	require.NoError(t, row.Scan(&all, &foreign))
	return all, foreign
}

func TestNoRoleSeesAnotherOrganisation(t *testing.T) {
	t.Parallel()
	b, _ := twoOrganisations(t)
	ctx := context.Background()
	for _, role := range []string{migrations.App, migrations.Owner} {
		conn := b.connect(role)
		for _, table := range b.everyTable() {
			for _, org := range []string{"acme", "umbra", "nobody", ""} {
				require.NoError(t, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
					_, err := tx.Exec(ctx, "SELECT set_config('iris.organization_id', $1, true)", org)
					require.NoError(t, err)
					all, foreign := seen(t, tx, table, org)
					require.Zero(t, foreign, "%s as %s", table, role)
					require.Equal(t, org == "acme" || org == "umbra", all > 0, "%s as %s for %q", table, role, org)
					return nil
				}))
			}
			// The setting went with its transaction: without one there is nothing.
			require.NoError(t, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				all, _ := seen(t, tx, table, "")
				require.Zero(t, all, "%s as %s", table, role)
				return nil
			}))
		}
	}
	// Row-level security holds neither a superuser nor the projector: that is why readers are refused as either.
	for _, role := range []string{b.postgres.Superuser(), migrations.Projector} {
		require.NoError(t, pgx.BeginFunc(ctx, b.connect(role), func(tx pgx.Tx) error {
			_, foreign := seen(t, tx, "memory_records", "acme")
			require.NotZero(t, foreign)
			return nil
		}))
		_, err := reader.Open(ctx, reader.Config{URL: b.postgres.URL(role)})
		require.ErrorIs(t, err, reader.ErrUnisolated, role)
	}
}

func TestTheApplicationCanOnlyRead(t *testing.T) {
	t.Parallel()
	b, _ := twoOrganisations(t)
	conn := b.connect(migrations.App)
	_, err := conn.Exec(t.Context(), "SELECT set_config('iris.organization_id', 'acme', false)")
	require.NoError(t, err)
	for _, table := range append(b.everyTable(), gooseTable, editionTable) {
		for _, statement := range []string{"INSERT INTO %s DEFAULT VALUES", "DELETE FROM %s", "TRUNCATE %s", "ALTER TABLE %s NO FORCE ROW LEVEL SECURITY", "DROP TABLE %s"} {
			_, err := conn.Exec(t.Context(), fmt.Sprintf(statement, table))
			requireDenied(t, err, statement, table)
		}
	}
	for _, statement := range []string{
		"UPDATE memory_records SET lifecycle = 'active'", "UPDATE " + editionTable + " SET version = 1000", "SELECT * FROM " + gooseTable, "CREATE TABLE mine (n int)",
		"CREATE VIEW iris.mine AS SELECT * FROM memory_records", "SET ROLE " + migrations.Owner,
	} {
		_, err := conn.Exec(t.Context(), statement)
		requireDenied(t, err, statement, "")
	}
}

func requireDenied(t *testing.T, err error, statement, table string) {
	t.Helper()
	var denied *pgconn.PgError
	require.ErrorAs(t, err, &denied, "%s %s", statement, table)
	require.Equal(t, "42501", denied.Code, "%s %s: %s", statement, table, denied.Message)
}

func TestQueriesStayInTheirOrganisation(t *testing.T) {
	t.Parallel()
	b, s := twoOrganisations(t)
	member := s.commits[0].Aggregate.ID
	for _, org := range []string{"acme", "umbra"} {
		b.read(org, func(ctx context.Context, session *reader.Session) {
			rows, _, err := memories.List(ctx, session, member, memories.Filter{}, reader.Page{})
			require.NoError(t, err)
			require.NotEmpty(t, rows)
			for _, r := range rows {
				require.True(t, strings.HasPrefix(r.Namespace, "org/"+org+"/"))
			}
		})
	}
	b.read("nobody", func(ctx context.Context, session *reader.Session) {
		rows, _, err := memories.List(ctx, session, member, memories.Filter{}, reader.Page{})
		require.NoError(t, err)
		require.Empty(t, rows)
	})
	require.ErrorIs(t, b.reader.WithOrganisation(t.Context(), "", func(*reader.Session) error { return nil }), reader.ErrForeign)
}

func TestARowInTheWrongNamespaceIsNotShown(t *testing.T) {
	t.Parallel()
	b, s := twoOrganisations(t)
	b.exec("UPDATE memory_records SET namespace = 'org/acmeplus/' || namespace WHERE organization_id = 'acme'")
	b.exec("UPDATE proposals SET namespace = 'org/umbra/' || namespace WHERE organization_id = 'acme'")
	member := s.commits[0].Aggregate.ID
	claim := s.commits[0].Events[0].Event.(*events.ProposalRecorded).MemoryID
	for name, query := range map[string]func(context.Context, *reader.Session) error{
		"memories list": func(ctx context.Context, session *reader.Session) error {
			_, _, err := memories.List(ctx, session, member, memories.Filter{}, reader.Page{})
			return err
		},
		"memories get": func(ctx context.Context, session *reader.Session) error {
			_, err := memories.Get(ctx, session, member, claim)
			return err
		},
		"proposals list": func(ctx context.Context, session *reader.Session) error {
			_, _, err := proposals.List(ctx, session, member, "", reader.Page{})
			return err
		},
		"proposals get": func(ctx context.Context, session *reader.Session) error {
			_, err := proposals.Get(ctx, session, claim)
			return err
		},
	} {
		err := b.reader.WithOrganisation(t.Context(), "acme", func(session *reader.Session) error { return query(t.Context(), session) })
		require.ErrorIs(t, err, reader.ErrForeign, name)
	}
}

func TestTextStandsNowhereInClear(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	member := s.id()
	p := s.proposed("secret-body")
	s.commit(member, p)
	s.commit(member, s.kept(p.Entry, "secret-edit"), s.stated("secret-own"), s.refused(s.id(), events.OutcomeRejected, "body_empty"))
	s.commit(member, &events.ConsentGranted{Consent: s.consent("medical", nil, "")})
	b.project(s)
	b.project(s, overSearch(s))
	access := newStream("acme")
	access.recall(access.resolved(member))
	b.project(access, overAccess(access))
	for table, rows := range b.dump() {
		for _, row := range rows {
			require.NotContains(t, row, "secret-", table)
		}
	}
}

func TestASchemaThatIsFlippedUnderAReaderIsReadAgain(t *testing.T) {
	t.Parallel()
	b, s := twoOrganisations(t)
	member := s.commits[0].Aggregate.ID
	list := func() error {
		return b.reader.WithOrganisation(t.Context(), "acme", func(session *reader.Session) error {
			_, _, err := memories.List(t.Context(), session, member, memories.Filter{}, reader.Page{})
			return err
		})
	}
	require.NoError(t, list())
	b.exec("ALTER TABLE memory_records ALTER COLUMN kind TYPE varchar")
	require.NoError(t, list())
}
