package runner

import (
	"context"

	"iris.example/iris/events"
)

// Settle waits for the snapshot that is being made.
func (r *Runner[S, C]) Settle() { r.keeper.working.Wait() }

// Form names what can read this runner's snapshots.
func (r *Runner[S, C]) Form() string { return r.keeper.name }

// Remembered is the book's memory of commands: digest by command.
func (r *Runner[S, C]) Remembered(ctx context.Context, org string, a events.Aggregate) (map[events.ID]string, error) {
	b, err := r.hold(ctx, org, a)
	if err != nil {
		return nil, err
	}
	defer b.release()
	if err := r.catchUp(ctx, org, a, b); err != nil {
		return nil, err
	}
	all := map[events.ID]string{}
	for id, c := range b.commands {
		all[id] = c.digest
	}
	return all, nil
}
