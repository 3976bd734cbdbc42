package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"iris.example/iris/internal/pgserver"
)

const stopTimeout = 20 * time.Second

// process is what one test process shares. It is the only package state here:
// go test gives a package no other place between TestMain and its tests.
var process struct {
	inMain bool // set before any test runs

	once   sync.Once // guards what follows
	dir    string
	server *pgserver.Server
	err    error
}

// Main runs a package's tests, ends what they shared, and holds them to leaving no goroutine behind. A package that uses Postgres, or
// starts anything that runs on, calls it from TestMain:
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
func Main(m *testing.M) {
	process.inMain = true
	code := m.Run()
	err := stopProcess()
	if code == 0 && err == nil {
		err = leaks(lingering)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func stopProcess() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var err error
	if process.server != nil {
		err = process.server.Stop(ctx)
	}
	if process.dir != "" {
		err = errors.Join(err, os.RemoveAll(process.dir))
	}
	return err
}

func startProcess() (*pgserver.Server, error) {
	process.once.Do(func() {
		if process.dir, process.err = os.MkdirTemp("", "iris-testkit-"); process.err != nil {
			return
		}
		// As root the server runs as another user, who must get through.
		if process.err = os.Chmod(process.dir, 0o711); process.err != nil {
			return
		}
		process.server, process.err = pgserver.Start(context.Background(), pgserver.Config{
			DataDir:      filepath.Join(process.dir, "postgres"),
			Settings:     map[string]string{"max_connections": strconv.Itoa(connections())},
			StartTimeout: 2 * time.Minute, // a busy machine is no failure
			UnsafeNoSync: true,
		})
	})
	return process.server, process.err
}

// connections are enough for as many tests as run at once, each with the pools of a whole Iris.
func connections() int { return min(max(200, 50*runtime.GOMAXPROCS(0)), 1000) }

// Database is one of its own on the process's server.
type Database struct {
	Database string
	server   *pgserver.Server
}

// Postgres makes an empty database and drops it when the test ends.
func Postgres(t testing.TB) *Database {
	t.Helper()
	if !process.inMain {
		t.Fatal("testkit: call testkit.Main in this package's TestMain, or the server outlives the tests")
	}
	server, err := startProcess()
	if err != nil {
		t.Fatalf("testkit: start PostgreSQL: %v", err)
	}
	p := &Database{Database: "t_" + uuid.New().String()[:13], server: server}
	p.admin(t, "create database "+p.quoted())
	t.Cleanup(func() { p.admin(t, "drop database "+p.quoted()+" with (force)") })
	return p
}

func (p *Database) quoted() string { return pgx.Identifier{p.Database}.Sanitize() }

// admin runs one statement from outside the database; t's context may be over.
func (p *Database) admin(t testing.TB, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.server.URL("postgres", p.server.Superuser()))
	if err != nil {
		t.Fatalf("testkit: connect: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatalf("testkit: %s: %v", sql, err)
	}
}

// URL connects role to this database; the socket trusts every role.
func (p *Database) URL(role string) string { return p.server.URL(p.Database, role) }

// Superuser is the role that may make the others.
func (p *Database) Superuser() string { return p.server.Superuser() }
