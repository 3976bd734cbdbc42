package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/internal/embedded"
)

// Organisations says what many organisations cost one process: created, restarted, idle. There is no promise but that it works
// within PostgreSQL's connections as they are set: the figures are told.
func Organisations(ctx context.Context, cfg Config, n int) ([]Figure, error) {
	dir, err := os.MkdirTemp("", "iris-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	start := embedded.Config{
		DataDir: filepath.Join(dir, "iris"), HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", NoDemo: true, Progress: cfg.Progress,
	}
	for i := range n {
		start.Organisations = append(start.Organisations, fmt.Sprintf("org%d", i))
	}
	var figures []Figure
	for _, act := range []string{"created", "restarted"} {
		figure, err := organisationsOnce(ctx, start, act)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure)
	}
	return figures, nil
}

func organisationsOnce(ctx context.Context, start embedded.Config, act string) (Figure, error) {
	began := time.Now()
	instance, err := embedded.Start(ctx, start)
	if err != nil {
		return Figure{}, err
	}
	took := time.Since(began)
	debug.FreeOSMemory()
	cpu, idle, err := cpuOver(ctx, 10*time.Second)
	var connections int
	var memory int64
	if err == nil {
		connections, err = backends(ctx, instance)
	}
	if err == nil {
		memory, err = resident()
	}
	began = time.Now()
	if stopped := instance.Stop(context.WithoutCancel(ctx)); err == nil {
		err = stopped
	}
	if err != nil {
		return Figure{}, err
	}
	return Figure{
		Name: fmt.Sprintf("%d organisations %s", len(start.Organisations), act),
		Measured: fmt.Sprintf("%s, then %d MB resident, %.1f %% of a core idle, %d connections to PostgreSQL; stopped in %s", took.Round(100*time.Millisecond), memory>>20,
			100*cpu.Seconds()/idle.Seconds(), connections, time.Since(began).Round(100*time.Millisecond)),
		Raw: "none", Ratio: 1, Promise: "told", Met: true,
	}, nil
}

// cpuOver is what this process used of its processors while it did nothing.
func cpuOver(ctx context.Context, wait time.Duration) (cpu, idle time.Duration, err error) {
	before, began := processorTime(), time.Now()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	return processorTime() - before, time.Since(began), nil
}

func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // fails for no process that asks about itself
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// resident is this process's memory, where the system tells (Linux); PostgreSQL's is its own.
func resident() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, nil
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			var kilobytes int64
			_, err := fmt.Sscan(value, &kilobytes)
			return kilobytes << 10, err
		}
	}
	return 0, nil
}

func backends(ctx context.Context, instance *embedded.Instance) (n int, err error) {
	conn, err := pgx.Connect(ctx, instance.AdminURL("postgres"))
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()").Scan(&n)
	return n, err
}
