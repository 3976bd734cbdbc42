package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"iris.example/iris/internal/assembly"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
)

// lookOften finds organisations that were founded while this process runs.
func (p *Process) lookOften() {
	ticker := time.NewTicker(p.cfg.LookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := p.look(p.working); err != nil && p.working.Err() == nil {
				p.cfg.Logger.Warn("organisations can't be looked for, will be tried again", "error", err)
			}
		case <-p.working.Done():
			return
		}
	}
}

// look begins to watch every organisation of the vault's list that isn't watched yet. The list is not the broker's: a stream that is
// missing is an alarm and not an organisation less.
func (p *Process) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	founded, err := p.vault.Organisations(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, org := range founded {
		if !slices.Contains(p.known(), org) {
			failed = append(failed, p.begin(ctx, org))
		}
	}
	return errors.Join(failed...)
}

func (p *Process) known() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.organisations)
}

// begin guards an organisation and, in a projector, carries its lines. One in alarm is served all the same: it refuses writes, and
// /readyz and the log say why.
func (p *Process) begin(ctx context.Context, org string) error {
	writable, err := p.streams.Watch(ctx, org)
	if err != nil {
		return fmt.Errorf("organisation %s: %w", org, err)
	}
	if writable {
		if err := assembly.CheckClock(ctx, p.log, org, p.Now()); err != nil {
			return fmt.Errorf("organisation %s: %w", org, err)
		}
	}
	if p.runs(Projector) {
		if err := p.project(org); err != nil {
			return fmt.Errorf("organisation %s: %w", org, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.organisations = append(p.organisations, org)
	slices.Sort(p.organisations)
	return nil
}

// project carries one organisation's lines. A database that was dropped is made by `iris migrate`: this process has no right to.
func (p *Process) project(org string) error {
	lines, err := p.rooms.Projector([]string{org}, p.cfg.Postgres.URL(assembly.ModelsDatabase, migrations.Projector), nil)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.projectors[org] = lines
	p.workers.Go(func() error { return lines.Run(p.working) })
	return nil
}

// lines are the projection lines that this process carries.
func (p *Process) lines() []engine.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []engine.Status
	for _, org := range p.organisations {
		if lines := p.projectors[org]; lines != nil {
			all = append(all, lines.Status()...)
		}
	}
	return all
}
