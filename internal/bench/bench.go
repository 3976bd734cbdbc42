// Package bench measures Iris against the raw limits of the same machine in the same run, so that a figure is a ratio and not a
// boast about hardware. Raw and measured rounds alternate, because a neighbour's load comes and goes.
package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/internal/embedded"
)

// Config says how long to measure.
type Config struct {
	Rounds int // alternations of raw and measured
	Each   int // operations a round

	RebuildEvents int // how many events a rebuild is measured with; 0: none is
	Claims        int // how many claims intake is measured with; 0: it isn't
	Progress      io.Writer
}

// Figure is one line of the report: Measured against Raw, and the ratio that is promised.
type Figure struct {
	Name     string  `json:"name"`
	Measured string  `json:"measured"`
	Raw      string  `json:"raw"`
	Ratio    float64 `json:"ratio"`
	Promise  string  `json:"promise"`
	Met      bool    `json:"met"`
}

// Run measures everything that needs an instance. Each part has one of its own: what another leaves behind, in memory, in PostgreSQL
// and on the disk, isn't its doing.
func Run(ctx context.Context, cfg Config) (figures []Figure, err error) {
	for _, part := range []func(*run, context.Context) ([]Figure, error){(*run).writers, (*run).books, (*run).rebuilds, (*run).intakes} {
		some, err := measured(ctx, cfg, part)
		if err != nil {
			return nil, err
		}
		figures = append(figures, some...)
	}
	return figures, nil
}

func measured(ctx context.Context, cfg Config, part func(*run, context.Context) ([]Figure, error)) ([]Figure, error) {
	dir, err := os.MkdirTemp("", "iris-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil { // as root PostgreSQL runs as another user, who must get through
		return nil, err
	}
	instance, err := embedded.Start(ctx, embedded.Config{
		DataDir: filepath.Join(dir, "iris"), HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", NoDemo: true, Progress: cfg.Progress,
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = instance.Stop(context.WithoutCancel(ctx)) }()
	b, err := begin(ctx, cfg, instance)
	if err != nil {
		return nil, err
	}
	defer b.close(ctx)
	for range 20 { // what is cold is not what is measured
		if _, err := b.propose(ctx, b.alone); err != nil {
			return nil, err
		}
	}
	return part(b, ctx)
}

func (b *run) writers(ctx context.Context) ([]Figure, error) {
	commits, err := b.commits(ctx)
	if err != nil {
		return nil, err
	}
	visible, err := b.visible(ctx)
	if err != nil {
		return nil, err
	}
	figures := []Figure{commits, visible}
	for _, w := range []struct {
		writers int
		promise float64
	}{{32, 2}, {100, 4}} {
		together, err := b.together(ctx, w.writers, w.promise)
		if err != nil {
			return nil, err
		}
		figures = append(figures, together)
	}
	return figures, nil
}

func (b *run) rebuilds(ctx context.Context) ([]Figure, error) {
	if b.cfg.RebuildEvents == 0 {
		return nil, nil
	}
	rebuilt, err := b.rebuilt(ctx)
	return []Figure{rebuilt}, err
}

func (b *run) intakes(ctx context.Context) ([]Figure, error) {
	if b.cfg.Claims == 0 {
		return nil, nil
	}
	taken, err := b.taken(ctx)
	return []Figure{taken}, err
}

// run is one measuring instance.
type run struct {
	cfg      Config
	instance *embedded.Instance
	conn     *nats.Conn
	stream   jetstream.JetStream
	sql      *pgx.Conn
	ada      acts.Caller // her assistant; the organisation's stream is projected
	page     acts.Caller // she herself
	alone    acts.Caller // nobody follows this one's
	other    book        // a short one, that a process looks at to have nothing of the one that is measured
	count    atomic.Int64
}

const rawSubject = "bench.raw"

func begin(ctx context.Context, cfg Config, instance *embedded.Instance) (b *run, err error) {
	b = &run{cfg: cfg, instance: instance}
	if b.conn, err = instance.NATS.Connect(); err != nil {
		return nil, err
	}
	if b.stream, err = jetstream.New(b.conn); err != nil {
		return nil, err
	}
	if _, err = b.stream.CreateStream(ctx, jetstream.StreamConfig{Name: "BENCH_RAW", Subjects: []string{rawSubject}, Storage: jetstream.FileStorage}); err != nil {
		return nil, fmt.Errorf("make a stream for the raw limit: %w", err)
	}
	if b.sql, err = pgx.Connect(ctx, instance.AdminURL("postgres")); err != nil {
		return nil, err
	}
	if _, err = b.sql.Exec(ctx, "CREATE TABLE IF NOT EXISTS bench_raw (n bigint, at timestamptz DEFAULT now())"); err != nil {
		return nil, err
	}
	// Of an organisation that was founded later no line follows the stream: what is measured there is the runner alone, as the raw
	// publishes are alone.
	if err := instance.Found(ctx, unprojected); err != nil {
		return nil, err
	}
	if b.alone, err = caller(ctx, instance, "ada@"+unprojected+".example"); err != nil {
		return nil, err
	}
	if b.ada, err = caller(ctx, instance, "ada@acme.example"); err != nil {
		return nil, err
	}
	b.page = b.ada
	b.page.Principal.Client = "iris-pages"
	return b, nil
}

const unprojected = "bench"

// caller is the assistant of a person of the demonstration: name@organisation.example.
func caller(ctx context.Context, instance *embedded.Instance, subject string) (acts.Caller, error) {
	_, domain, _ := strings.Cut(subject, "@")
	return instance.Acts.Identify(ctx, identity.Principal{
		Issuer: instance.Acts.Issuer, Subject: subject, Client: "assistant-app", Organisation: strings.TrimSuffix(domain, ".example"),
	})
}

func (b *run) close(ctx context.Context) {
	_, _ = b.sql.Exec(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS bench_raw")
	_ = b.sql.Close(context.WithoutCancel(ctx))
	b.conn.Close()
}

// propose is one durable commit through the whole runner: schema, screening, sealing, chain, append.
func (b *run) propose(ctx context.Context, who acts.Caller) (acts.ClaimAnswer, error) {
	n := b.count.Add(1)
	p := acts.Proposal{
		Tier: events.TierIndividual, Kind: events.KindPreference, Scope: events.Scope{Kind: events.ScopeProfile}, Category: events.CategoryPreference,
		Subject: "units", Body: fmt.Sprintf("Prefers metric units in table number %d of the monthly report.", n), Origin: events.OriginModelInferred,
	}
	answer, err := b.instance.Acts.Propose(ctx, who, b.request(n, "propose"), p)
	if err == nil && answer.Outcome != events.OutcomePending {
		err = fmt.Errorf("proposal %d was not recorded: %s", n, answer.Reason)
	}
	return answer, err
}

// together: commits a second of many writers in one organisation, each with a member of its own, against one writer's in the same
// rounds. What waits together is committed together.
func (b *run) together(ctx context.Context, writers int, promise float64) (Figure, error) {
	callers := make([]acts.Caller, writers)
	for n := range callers {
		subject := fmt.Sprintf("writer%d@%s.example", n, unprojected)
		if err := b.instance.Admit(ctx, unprojected, subject, "Writer"); err != nil {
			return Figure{}, err
		}
		var err error
		if callers[n], err = caller(ctx, b.instance, subject); err != nil {
			return Figure{}, err
		}
		if _, err := b.propose(ctx, callers[n]); err != nil { // what is cold is not what is measured
			return Figure{}, err
		}
	}
	var alone, all time.Duration
	commits := 0
	for range b.cfg.Rounds {
		began := time.Now()
		for range b.cfg.Each {
			if _, err := b.propose(ctx, b.alone); err != nil {
				return Figure{}, err
			}
		}
		alone += time.Since(began)

		began = time.Now()
		var group errgroup.Group
		each := max(1, b.cfg.Each/writers) * 4
		for _, who := range callers {
			group.Go(func() error {
				for range each {
					if _, err := b.propose(ctx, who); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return Figure{}, err
		}
		all += time.Since(began)
		commits += each * writers
	}
	single := float64(b.cfg.Rounds*b.cfg.Each) / alone.Seconds()
	many := float64(commits) / all.Seconds()
	return Figure{
		Name: fmt.Sprintf("commits of %d writers in one organisation", writers), Measured: fmt.Sprintf("%.0f/s", many),
		Raw: fmt.Sprintf("%.0f/s, one writer through the same runner", single), Ratio: many / single,
		Promise: fmt.Sprintf("≥ %.0f × one writer", promise), Met: many >= promise*single,
	}, nil
}

func (b *run) request(n int64, route string) acts.Request {
	return acts.Request{Route: route, Key: fmt.Sprint(n), Received: events.At(b.instance.Now())}
}

// commits: durable commits against raw synced publishes of the same size, one writer each.
func (b *run) commits(ctx context.Context) (Figure, error) {
	size, err := b.lastSize(ctx)
	if err != nil {
		return Figure{}, err
	}
	payload := make([]byte, size)
	var raw, measured []time.Duration
	for range b.cfg.Rounds {
		if raw, err = times(raw, b.cfg.Each, func() error { _, err := b.stream.Publish(ctx, rawSubject, payload); return err }); err != nil {
			return Figure{}, err
		}
		if measured, err = times(measured, b.cfg.Each, func() error { _, err := b.propose(ctx, b.alone); return err }); err != nil {
			return Figure{}, err
		}
	}
	ratio := rate(measured) / rate(raw)
	return Figure{
		Name:     fmt.Sprintf("durable commit through the runner, one writer, %d bytes", size),
		Measured: fmt.Sprintf("%.0f/s, p50 %s", rate(measured), p50(measured)), Raw: fmt.Sprintf("%.0f/s, p50 %s, synced publish", rate(raw), p50(raw)),
		Ratio: ratio, Promise: "≥ 0.5 × the raw rate", Met: ratio >= 0.5,
	}, nil
}

func (b *run) lastSize(ctx context.Context) (int, error) {
	stream := events.StreamFor(unprojected)
	last, err := b.instance.Log.Last(ctx, stream)
	if err != nil {
		return 0, err
	}
	message, err := b.instance.Log.At(ctx, stream, last)
	return len(message.Body), err
}

// visible: from sending an accept to its row being in the read model, against one synced publish and one PostgreSQL commit.
func (b *run) visible(ctx context.Context) (Figure, error) {
	payload := make([]byte, 1024)
	var raw, measured []time.Duration
	for range b.cfg.Rounds {
		var proposals []events.ID
		for range b.cfg.Each {
			answer, err := b.propose(ctx, b.ada)
			if err != nil {
				return Figure{}, err
			}
			if err := b.instance.Acts.Visible(ctx, b.ada, answer.Position); err != nil {
				return Figure{}, err
			}
			proposals = append(proposals, answer.ProposalID)
		}
		var err error
		raw, err = times(raw, b.cfg.Each, func() error {
			if _, err := b.stream.Publish(ctx, rawSubject, payload); err != nil {
				return err
			}
			_, err := b.sql.Exec(ctx, "INSERT INTO bench_raw (n) VALUES (1)")
			return err
		})
		if err != nil {
			return Figure{}, err
		}
		next := 0
		measured, err = times(measured, b.cfg.Each, func() error {
			kept, err := b.instance.Acts.Accept(ctx, b.page, b.request(b.count.Add(1), "accept"), proposals[next], acts.Acceptance{})
			next++
			if err != nil {
				return err
			}
			return b.instance.Acts.Visible(ctx, b.ada, kept.Position)
		})
		if err != nil {
			return Figure{}, err
		}
	}
	ratio := float64(p50(measured)) / float64(p50(raw))
	return Figure{
		Name:     "accept → visible, position waited for",
		Measured: "p50 " + p50(measured).String(), Raw: "p50 " + p50(raw).String() + ", a synced publish and a PostgreSQL commit",
		Ratio: ratio, Promise: "≤ 5 × the two", Met: ratio <= 5,
	}, nil
}

func times(into []time.Duration, n int, op func() error) ([]time.Duration, error) {
	for range n {
		began := time.Now()
		if err := op(); err != nil {
			return nil, err
		}
		into = append(into, time.Since(began))
	}
	return into, nil
}

func rate(all []time.Duration) float64 {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return float64(len(all)) / sum.Seconds()
}

func p50(all []time.Duration) time.Duration {
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	return sorted[len(sorted)/2].Round(time.Microsecond)
}
