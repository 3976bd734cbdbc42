//go:build unix

package pgserver_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/pgserver"
	"iris.example/iris/internal/testkit"
)

const childEnv = "IRIS_PGSERVER_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		beParent(dir)
		return
	}
	testkit.Main(m)
}

// beParent starts a server, says its pid and waits to be killed.
func beParent(dir string) {
	_, err := pgserver.Start(context.Background(), pgserver.Config{DataDir: dir, UnsafeNoSync: true})
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	raw, _ := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	fmt.Println(strings.SplitN(string(raw), "\n", 2)[0])
	select {}
}

// folder is one that the server's user may pass; t.TempDir's parents are closed.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "iris-pgserver-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// patience bounds what a busy machine may take; nothing waits for it to pass.
const patience = 3 * time.Minute

func config(dir string) pgserver.Config {
	return pgserver.Config{DataDir: filepath.Join(dir, "postgres"), UnsafeNoSync: true, StartTimeout: patience}
}

func start(t *testing.T, cfg pgserver.Config) *pgserver.Server {
	t.Helper()
	s, err := pgserver.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *pgserver.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, s.Stop(ctx))
}

func connect(t *testing.T, s *pgserver.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL("postgres", s.Superuser()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func postmaster(t *testing.T, cfg pgserver.Config) int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(cfg.DataDir, "postmaster.pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.SplitN(string(raw), "\n", 2)[0])
	require.NoError(t, err)
	return pid
}

func TestDataSurvivesARestartAndSettingsHold(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	cfg.UnsafeNoSync = false
	cfg.Settings = map[string]string{"work_mem": "5MB", "fsync": "off", "log_statement": "all"}

	began := time.Now()
	s := start(t, cfg)
	t.Logf("first start %v", time.Since(began))
	conn := connect(t, s)
	_, err := conn.Exec(t.Context(), "create table kept (n int primary key); insert into kept values (7)")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "insert into kept values (7) -- secret-word")
	require.Error(t, err)
	stop(t, s)
	require.NoError(t, s.Err())

	began = time.Now()
	s = start(t, cfg)
	t.Logf("second start %v", time.Since(began))
	conn = connect(t, s)
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), "select n from kept").Scan(&n))
	require.Equal(t, 7, n)

	for name, want := range map[string]string{
		"work_mem": "5MB", "listen_addresses": "", "fsync": "on", "full_page_writes": "on", "wal_recycle": "off", "jit": "off",
		"log_error_verbosity": "terse", "log_min_error_statement": "panic", "log_statement": "none",
		"data_checksums": "on", "server_encoding": "UTF8", "unix_socket_permissions": "0700",
	} {
		var got string
		require.NoError(t, conn.QueryRow(t.Context(), "select current_setting($1)", name).Scan(&got))
		require.Equal(t, want, got, name)
	}
	var collate string
	require.NoError(t, conn.QueryRow(t.Context(), "select datcollate from pg_database where datname = 'postgres'").Scan(&collate))
	require.Contains(t, []string{"C.UTF-8", "C.utf8", "C"}, collate)

	log, err := os.ReadFile(filepath.Join(cfg.DataDir, "iris.server.log.1"))
	require.NoError(t, err)
	require.Contains(t, string(log), "duplicate key value")
	require.NotContains(t, string(log), "secret-word")
	require.NotContains(t, string(log), "(7)")
}

func TestTwoServersAtOnceButOnePerDirectory(t *testing.T) {
	t.Parallel()
	a, b := config(folder(t)), config(folder(t))
	start(t, a)
	sb := start(t, b)
	_, err := pgserver.Start(t.Context(), a)
	require.ErrorIs(t, err, pgserver.ErrInUse)
	connect(t, sb)
}

func TestAnotherMajorVersionIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	require.NoError(t, os.MkdirAll(filepath.Join(cfg.DataDir, "base"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(cfg.DataDir, "PG_VERSION"), []byte("11\n"), 0o600))
	marker := filepath.Join(cfg.DataDir, "base", "marker")
	require.NoError(t, os.WriteFile(marker, []byte("data"), 0o600))

	_, err := pgserver.Start(t.Context(), cfg)
	require.ErrorIs(t, err, pgserver.ErrVersion)
	require.ErrorContains(t, err, "pg_upgrade")
	require.FileExists(t, marker)
}

func TestAForeignDirectoryIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	require.NoError(t, os.MkdirAll(cfg.DataDir, 0o700))
	marker := filepath.Join(cfg.DataDir, "thesis.txt")
	require.NoError(t, os.WriteFile(marker, []byte("data"), 0o600))

	_, err := pgserver.Start(t.Context(), cfg)
	require.ErrorIs(t, err, pgserver.ErrForeignDir)
	require.FileExists(t, marker)
}

func TestAnInterruptedInitdbDoesNotStandInTheWay(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	left := cfg.DataDir + ".initdb-123"
	require.NoError(t, os.MkdirAll(left, 0o700))
	require.NoError(t, os.MkdirAll(cfg.DataDir, 0o700)) // empty is as good as missing
	var log strings.Builder
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	start(t, cfg)
	require.DirExists(t, left)
	require.Contains(t, log.String(), left)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other := config(folder(t))
	_, err := pgserver.Start(ctx, other)
	require.ErrorIs(t, err, context.Canceled)
	require.NoDirExists(t, other.DataDir)
	start(t, other)
}

func TestAKilledPostmasterComesBack(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	s := start(t, cfg)
	conn := connect(t, s)
	_, err := conn.Exec(t.Context(), "create table kept (n int); insert into kept values (7)")
	require.NoError(t, err)

	for range 3 {
		dead := postmaster(t, cfg)
		require.NoError(t, syscall.Kill(dead, syscall.SIGKILL))
		conn = reconnect(t, s, dead, cfg)
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), "select n from kept").Scan(&n))
		require.Equal(t, 7, n)
	}
	require.NoError(t, s.Err())
}

// reconnect does what a client does: it tries until another postmaster answers.
func reconnect(t *testing.T, s *pgserver.Server, dead int, cfg pgserver.Config) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, s.URL("postgres", s.Superuser()))
		if err != nil {
			continue
		}
		if postmaster(t, cfg) != dead {
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			return conn
		}
		_ = conn.Close(ctx)
	}
	require.FailNow(t, "the server didn't come back")
	return nil
}

func TestALongPathGetsAShortSocket(t *testing.T) {
	t.Parallel()
	cfg := config(filepath.Join(folder(t), strings.Repeat("a", 60), strings.Repeat("b", 60)))
	s := start(t, cfg)
	conn := connect(t, s)
	var dir string
	require.NoError(t, conn.QueryRow(t.Context(), "select current_setting('unix_socket_directories')").Scan(&dir))
	dir = strings.Trim(dir, `"`)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	stop(t, s)
	require.NoDirExists(t, dir)
}

func TestAServerThatCannotStartSaysWhyAtOnce(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	cfg.Settings = map[string]string{"shared_buffers": "nonsense"}
	_, err := pgserver.Start(t.Context(), cfg)
	require.ErrorIs(t, err, pgserver.ErrStart)
	require.ErrorContains(t, err, "shared_buffers")
	require.NotErrorIs(t, err, context.DeadlineExceeded, "waited for the time-out instead of the exit")
}

func TestConfigIsCheckedBeforeAnyFileIsTouched(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	ok := config(dir)
	for name, bad := range map[string]func(*pgserver.Config){
		"no directory": func(c *pgserver.Config) { c.DataDir = "" },
		"root":         func(c *pgserver.Config) { c.DataDir = "/" },
		"line break":   func(c *pgserver.Config) { c.DataDir += "\n" },
		"role":         func(c *pgserver.Config) { c.Superuser = "a b" },
		"setting":      func(c *pgserver.Config) { c.Settings = map[string]string{"a=b -c x": "1"} },
		"time-out":     func(c *pgserver.Config) { c.StartTimeout = -1 },
	} {
		cfg := ok
		bad(&cfg)
		_, err := pgserver.Start(t.Context(), cfg)
		require.ErrorIs(t, err, pgserver.ErrConfig, name)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestNamedBinariesAreTakenOrRefused(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	cfg.BinDir = t.TempDir()
	_, err := pgserver.Start(t.Context(), cfg)
	require.ErrorIs(t, err, pgserver.ErrNoBinaries)
	for _, choice := range []string{"IRIS_POSTGRES_URL", "IRIS_POSTGRES_BIN", "install", "docker-compose.yml"} {
		require.ErrorContains(t, err, choice)
	}
}
