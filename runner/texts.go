package runner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
)

// Texts is how a state that came from a snapshot gets at what the snapshot doesn't hold.
type Texts[S, C any] struct {
	Needed     func(C) (entries []events.ID, known bool) // whose texts a command has to find there; not known: all
	Lacking    func(S, []events.ID) []aggregates.Text
	LackingAny func(S) []aggregates.Text
	Fill       func(S, map[events.ID]string)
}

// need says whose texts must be there: all, or some.
type need[S any] func(S) (entries []events.ID, all bool)

func everyText[S any](S) ([]events.ID, bool) { return nil, true }

func (r *Runner[S, C]) textsOf(ctx context.Context, c Command[C], b *book[S]) error {
	if !b.partial {
		return nil
	}
	return r.texts(ctx, c.Organisation, c.Aggregate, b, func(S) ([]events.ID, bool) {
		entries, known := r.decider.Texts.Needed(c.Body)
		return entries, !known
	})
}

// texts brings in what is needed and missing. Where the stream doesn't have it as the snapshot says, the snapshot was wrong: then all is
// folded from the first event.
func (r *Runner[S, C]) texts(ctx context.Context, org string, a events.Aggregate, b *book[S], needed need[S]) error {
	if !b.partial {
		return nil
	}
	entries, all := needed(b.state)
	var missing []aggregates.Text
	if all {
		missing = r.decider.Texts.LackingAny(b.state)
	} else {
		missing = r.decider.Texts.Lacking(b.state, entries)
	}
	if len(missing) > 0 {
		found, err := r.open(ctx, org, a, b.version, missing)
		if errors.Is(err, errSnapshot) {
			r.snapshot(a, SnapshotMismatch)
			head := b.position
			b.loaded = false
			return r.load(ctx, org, a, b, head)
		}
		if err != nil {
			return err
		}
		r.decider.Texts.Fill(b.state, found)
	}
	b.partial = !all
	return nil
}

func (r *Runner[S, C]) open(ctx context.Context, org string, a events.Aggregate, commits uint64, missing []aggregates.Text) (map[events.ID]string, error) {
	wanted, positions := map[string]bool{}, make([]uint64, 0, len(missing))
	for _, text := range missing {
		wanted[text.Commitment] = true
		positions = append(positions, text.Position)
	}
	slices.Sort(positions)
	messages, err := r.carrying(ctx, org, a, commits, slices.Compact(positions))
	if err != nil {
		return nil, unavailable(err)
	}
	opened, err := r.cfg.Codec.Texts(ctx, storedAs(messages), wanted)
	if err != nil {
		return nil, unavailable(err)
	}
	found := make(map[events.ID]string, len(missing))
	for _, text := range missing {
		body, ok := opened[text.Commitment]
		if !ok {
			return nil, errSnapshot
		}
		found[text.Of] = body
	}
	return found, nil
}

const (
	fewTexts = 16 // are fetched one by one
	// costOfOne: fetching one message takes about as long as eight more of a batch (measured).
	costOfOne     = 8
	textsTogether = 8
)

// carrying loads the messages at these positions, in order: one by one where they are few, else in one batch with what lies between.
func (r *Runner[S, C]) carrying(ctx context.Context, org string, a events.Aggregate, commits uint64, positions []uint64) ([]eventlog.Message, error) {
	if len(positions) > fewTexts && uint64(len(positions))*costOfOne > commits {
		messages, err := r.cfg.Log.Load(ctx, org, a, positions[0]-1, positions[len(positions)-1])
		return slices.DeleteFunc(messages, func(m eventlog.Message) bool {
			_, wanted := slices.BinarySearch(positions, m.Sequence)
			return !wanted
		}), err
	}
	var mu sync.Mutex // guards messages
	var messages []eventlog.Message
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(textsTogether)
	for _, position := range positions {
		group.Go(func() error {
			one, err := r.cfg.Log.Load(ctx, org, a, position-1, position)
			mu.Lock()
			defer mu.Unlock()
			messages = append(messages, one...)
			return err
		})
	}
	err := group.Wait()
	slices.SortFunc(messages, func(a, b eventlog.Message) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return messages, err
}
