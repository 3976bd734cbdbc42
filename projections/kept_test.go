package projections_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/events"
	"iris.example/iris/projections/migrations"
)

// keptColumns are those that were JSON until migration 7.
var keptColumns = map[string][]string{
	"memory_records": {"body", "labels", "details"}, "memory_revisions": {"body", "labels", "details"},
	"proposals": {"body", "labels", "details", "notes"}, "consents": {"record"},
}

// asJSON is how a sealed field stood before.
func asJSON(k events.Kept) (string, error) {
	p, err := k.Placed()
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(struct {
		Field     string           `json:"field"`
		Key       events.KeyRef    `json:"key"`
		Aggregate events.Aggregate `json:"aggregate"`
		Event     events.ID        `json:"event"`
		Previous  uint64           `json:"previous,string"`
		Sealed    events.Sealed    `json:"sealed"`
	}{p.Field, p.Key, p.Aggregate, p.Event, p.Previous, p.Sealed})
	return string(b), err
}

// A database from before has the same bytes after the migration as one that was projected since.
func TestTheMigrationKeepsWhatWasJSON(t *testing.T) {
	t.Parallel()
	b, s := setup(t), rapid.Custom(draw).Example(3)
	b.project(s)
	want := b.dump()
	for table, columns := range keptColumns {
		for _, column := range columns {
			b.backToJSON(table, column)
		}
	}
	b.exec("DROP TABLE edition; DELETE FROM goose_db_version WHERE version_id >= 7")
	require.NoError(t, migrations.Up(t.Context(), b.postgres.URL(migrations.Owner), migrations.Schema))
	require.Equal(t, want, b.dump())
}

func (b *bundle) backToJSON(table, column string) {
	b.t.Helper()
	b.exec(fmt.Sprintf("ALTER TABLE %s ADD was jsonb", table))
	rows, err := b.super.Query(context.Background(), fmt.Sprintf("SELECT ctid::text AS at, %s AS kept FROM %[2]s WHERE %[1]s IS NOT NULL", column, table))
	require.NoError(b.t, err)
	type row struct {
		At   string
		Kept events.Kept
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	require.NoError(b.t, err)
	for _, r := range all {
		was, err := asJSON(r.Kept)
		require.NoError(b.t, err)
		_, err = b.super.Exec(context.Background(), fmt.Sprintf("UPDATE %s SET was = $1::text::jsonb WHERE ctid = $2::text::tid", table), was, r.At)
		require.NoError(b.t, err)
	}
	b.exec(fmt.Sprintf("ALTER TABLE %s ALTER %[2]s DROP NOT NULL, ALTER %[2]s TYPE jsonb USING NULL", table, column))
	b.exec(fmt.Sprintf("UPDATE %s SET %s = was; ALTER TABLE %[1]s DROP was", table, column))
}
