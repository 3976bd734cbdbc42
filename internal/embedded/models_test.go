package embedded_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/internal/embedded"
	"iris.example/iris/internal/pgserver"
	"iris.example/iris/projections"
)

const patience = time.Minute

// until asks again and again, until it is so or patience ends.
func until(t *testing.T, what string, so func() error) {
	t.Helper()
	again, end := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer again.Stop()
	for {
		err := so()
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-end:
			require.NoError(t, err, what)
		}
	}
}

// tables is every row of every read model, as a hash of its text.
func tables(ctx context.Context, url string) (map[string][]string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id'
		WHERE c.relnamespace = 'iris'::regnamespace AND c.relkind = 'r'`)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, name := range names {
		rows, err := conn.Query(ctx, "SELECT md5((to_jsonb(t) - 'first_seen')::text) FROM iris."+name+" t ORDER BY 1")
		if err != nil {
			return nil, err
		}
		if all[name], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// settled is tables once every line stands at the end of its stream.
func settled(t *testing.T, i *embedded.Instance) (all map[string][]string) {
	t.Helper()
	ctx := context.Background()
	until(t, "the read models come to the streams' ends", func() error {
		conn, err := pgx.Connect(ctx, i.AdminURL("iris"))
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		rows, err := conn.Query(ctx, "SELECT split_part(stream, '/', 1), position FROM iris.cursors")
		if err != nil {
			return err
		}
		var stream string
		var position uint64
		lines := 0
		if _, err = pgx.ForEachRow(rows, []any{&stream, &position}, func() error {
			lines++
			last, err := i.Log.Last(ctx, stream)
			if err == nil && last != position {
				err = fmt.Errorf("%s stands at %d of %d", stream, position, last)
			}
			return err
		}); err != nil {
			return err
		}
		if lines < 2*len(projections.Lines("acme")) { // of both organisations
			return fmt.Errorf("%d lines have begun", lines)
		}
		all, err = tables(ctx, i.AdminURL("iris"))
		return err
	})
	require.NotEmpty(t, all["memory_records"])
	require.NotEmpty(t, all["consents"])
	return all
}

const dropModels = "DROP DATABASE iris WITH (FORCE)"

func TestADatabaseDroppedUnderARunningIrisFillsItself(t *testing.T) {
	t.Parallel()
	i, instance := start(t, nil)
	want := settled(t, instance)
	admin, err := pgx.Connect(t.Context(), instance.AdminURL("postgres"))
	require.NoError(t, err)
	defer admin.Close(context.Background())
	for range 2 {
		_, err = admin.Exec(t.Context(), dropModels)
		require.NoError(t, err)
		// Accepting goes on meanwhile, and what was said before shows nothing that isn't there.
		require.Equal(t, want, settled(t, instance))
	}
	until(t, "ready again", func() error {
		if got := i.ask("member", http.MethodGet, "/readyz", ""); got.status != http.StatusOK {
			return fmt.Errorf("readyz answers %d %v", got.status, got.body)
		}
		return nil
	})
	require.Equal(t, http.StatusOK, i.ask("member", http.MethodGet, "/v1/me/memory", "").status)
}

func TestDroppingTheDatabaseAndStartingAgainIsTheRestore(t *testing.T) {
	t.Parallel()
	cfg := embedded.Config{DataDir: filepath.Join(directory(t), "iris"), HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", UnsafeNoSync: true}
	first, err := embedded.Start(t.Context(), cfg)
	require.NoError(t, err)
	want := settled(t, first)
	require.NoError(t, first.Stop(context.Background()))

	postgres, err := pgserver.Start(t.Context(), pgserver.Config{DataDir: filepath.Join(cfg.DataDir, "postgres"), UnsafeNoSync: true})
	require.NoError(t, err)
	admin, err := pgx.Connect(t.Context(), postgres.URL("postgres", postgres.Superuser()))
	require.NoError(t, err)
	_, err = admin.Exec(t.Context(), dropModels)
	require.NoError(t, err)
	require.NoError(t, admin.Close(t.Context()))
	require.NoError(t, postgres.Stop(t.Context()))

	cfg.NoDemo = true
	second, err := embedded.Start(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, second.Stop(context.Background())) }()
	require.Equal(t, want, settled(t, second))
}

// models asks the operator's route and waits until nothing runs.
func (i *iris) models(role, body string) (status int, last embedded.Rebuilt) {
	i.t.Helper()
	const path = "/operator/models"
	status = i.ask(role, http.MethodPost, path, body).status
	if status != http.StatusAccepted {
		return status, last
	}
	until(i.t, "the rebuild ends", func() error {
		content, err := json.Marshal(i.ask(role, http.MethodGet, path, "").body)
		if err == nil {
			err = json.Unmarshal(content, &last)
		}
		if err == nil && last.Running {
			err = fmt.Errorf("still %s", last.Progress.Stage)
		}
		return err
	})
	return status, last
}

func TestTheOperatorRebuildsARunningIris(t *testing.T) {
	t.Parallel()
	i, instance := start(t, nil)
	want := settled(t, instance)
	for _, role := range []string{"member", "assistant", "auditor", "operator"} {
		status, _ := i.models(role, `{"act":"rebuild"}`)
		require.Equal(t, http.StatusForbidden, status, role)
	}
	status, _ := i.models("nobody", `{"act":"rebuild"}`)
	require.Equal(t, http.StatusUnauthorized, status)
	for _, body := range []string{"", "{}", `{"act":"flip"}`, `{"act":"rebuild","else":1}`} {
		status, _ := i.models("admin", body)
		require.Equal(t, http.StatusBadRequest, status, body)
	}

	_, last := i.models("admin", `{"act":"rebuild"}`)
	require.Empty(t, last.Error)
	require.Equal(t, "iris_kept_1", last.Report.Kept)
	require.Equal(t, []string{"iris_kept_1"}, last.Kept)
	require.NotZero(t, last.Report.Commits)
	require.Equal(t, want, settled(t, instance))

	_, last = i.models("admin", `{"act":"rollback"}`)
	require.Empty(t, last.Error)
	require.Equal(t, want, settled(t, instance))

	_, last = i.models("admin", `{"act":"drop","schema":"iris"}`)
	require.Contains(t, last.Error, "rebuild_not_kept")
	_, last = i.models("admin", `{"act":"drop","schema":"iris_kept_1"}`)
	require.Empty(t, last.Error)
	require.Empty(t, last.Kept)
	require.Equal(t, want, settled(t, instance))
	require.Equal(t, http.StatusOK, i.ask("member", http.MethodGet, "/v1/me/memory", "").status)
}

func TestTheOperatorReleasesWhatALineParked(t *testing.T) {
	t.Parallel()
	i, instance := start(t, func(c *embedded.Config) { c.NoDemo = true })
	const path = "/operator/parked"
	require.Equal(t, http.StatusForbidden, i.ask("member", http.MethodGet, path, "").status)
	require.Empty(t, i.ask("admin", http.MethodGet, path, "").items())

	// An envelope that nobody can read.
	position, err := instance.Log.AppendAccess(t.Context(), "acme", events.RecallSubject("acme"), []byte("[]"))
	require.NoError(t, err)
	var id string
	until(t, "it is parked", func() error {
		items := i.ask("admin", http.MethodGet, path, "").items()
		if len(items) != 1 {
			return fmt.Errorf("%d are parked", len(items))
		}
		id = items[0]["id"].(string)
		require.Equal(t, "event_malformed", items[0]["code"])
		return nil
	})
	require.Equal(t, fmt.Sprintf("%s@%d", events.AccessStreamFor("acme"), position), id)
	for body, status := range map[string]int{
		"": http.StatusBadRequest, `{"act":"skip"}`: http.StatusBadRequest, `{"act":"retry","id":"nowhere@1"}`: http.StatusNotFound,
		`{"act":"retry","id":"` + id + `"}`: http.StatusConflict, `{"act":"discard","id":"` + id + `","reason":"some words"}`: http.StatusBadRequest,
	} {
		require.Equal(t, status, i.ask("admin", http.MethodPost, path, body).status, body)
	}
	require.Equal(t, http.StatusOK, i.ask("admin", http.MethodPost, path, `{"act":"discard","id":"`+id+`","reason":"ticket-7"}`).status)
	require.Equal(t, "discarded", i.ask("admin", http.MethodGet, path, "").items()[0]["state"])
}

// A directory that an older build filled lacks what an update brought: the next start makes the read models anew while they are read.
func TestAnUpdateFillsWhatPastEventsOwe(t *testing.T) {
	t.Parallel()
	cfg := embedded.Config{DataDir: filepath.Join(directory(t), "iris"), HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", UnsafeNoSync: true}
	first, err := embedded.Start(t.Context(), cfg)
	require.NoError(t, err)
	want := settled(t, first)
	require.NotEmpty(t, want["belongings"])
	conn, err := pgx.Connect(t.Context(), first.AdminURL("iris"))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "UPDATE iris.edition SET version = 0; DELETE FROM iris.belongings")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, first.Stop(context.Background()))

	cfg.NoDemo = true // what stands there is all there is
	second, err := embedded.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Stop(context.Background())) })
	until(t, "what was missing", func() error {
		has, err := tables(context.Background(), second.AdminURL("iris"))
		if err == nil && !slices.Equal(has["belongings"], want["belongings"]) {
			err = fmt.Errorf("%d of %d belongings", len(has["belongings"]), len(want["belongings"]))
		}
		return err
	})
}
