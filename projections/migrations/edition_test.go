package migrations

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/testkit"
)

func TestEveryMigrationSaysWhatBecomesOfTheRows(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(files, "sql/*.sql")
	require.NoError(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		rest, begins := strings.CutPrefix(string(text), "-- +goose Up\n")
		require.True(t, begins, name)
		require.True(t, strings.HasPrefix(rest, filledAnew) || strings.HasPrefix(rest, asTheyWere), "%s: say %q or %q", name, filledAnew, asTheyWere)
	}
	filling, newest, err := editions()
	require.NoError(t, err)
	require.EqualValues(t, len(names), newest)
	require.Positive(t, filling)
	require.LessOrEqual(t, filling, newest)
}

// What was made before the last migration that fills rows anew is outdated, however often somebody starts since; what was made now isn't.
func TestRowsFromBeforeAnUpdateAreOutdated(t *testing.T) {
	t.Parallel()
	filling, newest, err := editions()
	require.NoError(t, err)
	for from, outdated := range map[int64]bool{filling - 1: true, newest: false} {
		t.Run(fmt.Sprint("made under ", from), func(t *testing.T) {
			t.Parallel()
			p := testkit.Postgres(t)
			require.NoError(t, Prepare(t.Context(), p.URL(p.Superuser()), Schema))
			if from < newest {
				provider, db, err := open(p.URL(Owner), Schema)
				require.NoError(t, err)
				t.Cleanup(func() { _ = db.Close() })
				_, err = provider.UpTo(t.Context(), from)
				require.NoError(t, err)
			}
			for range 2 {
				require.NoError(t, Up(t.Context(), p.URL(Owner), Schema))
				for _, role := range []string{App, Projector} {
					is, err := Outdated(t.Context(), connect(t, p.URL(role)), Schema)
					require.NoError(t, err)
					require.Equal(t, outdated, is)
				}
			}
		})
	}
}

func TestTheEditionOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	p := testkit.Postgres(t)
	conn := connect(t, p.URL(p.Superuser()))
	_, err := Outdated(t.Context(), conn, Schema)
	require.ErrorIs(t, err, ErrMigrate)
	_, err = Outdated(t.Context(), conn, "iris; DROP SCHEMA iris")
	require.ErrorIs(t, err, ErrSchema)
}
