package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/runner/form"
)

// Snapshots is where folded states are kept between cold loads. All of it is derived and may be lost at any time: what isn't there,
// doesn't open or doesn't fit the stream is folded from the first event (spec 9.4). version and position stand beside the box in
// clear and are bound to it; form names who can read it.
type Snapshots interface {
	// Load returns the newest of that form; a nil box: there is none.
	Load(ctx context.Context, org string, a events.Aggregate, form string) (version, position uint64, box []byte, err error)
	// Save replaces what is older, and what is of another form. It is no error that something newer stands.
	Save(ctx context.Context, org string, a events.Aggregate, form string, version, position uint64, box []byte) error
	// Discard drops what stands at exactly this position.
	Discard(ctx context.Context, org string, a events.Aggregate, position uint64) error
}

// SnapshotResult is what became of a snapshot.
type SnapshotResult string

const (
	SnapshotUsed       SnapshotResult = "used"
	SnapshotSaved      SnapshotResult = "saved"
	SnapshotFailed     SnapshotResult = "failed"     // the store didn't answer, or the state couldn't be written down
	SnapshotUnreadable SnapshotResult = "unreadable" // its seal didn't open
	SnapshotMismatch   SnapshotResult = "mismatch"   // it isn't of this stream: somebody restored one of the two, or changed it
)

// SnapshotResults lists them.
func SnapshotResults() []SnapshotResult {
	return []SnapshotResult{SnapshotUsed, SnapshotSaved, SnapshotFailed, SnapshotUnreadable, SnapshotMismatch}
}

// SnapshotObservation is what became of one snapshot, for metrics: no id in it.
type SnapshotObservation struct {
	Aggregate events.AggregateKind
	Result    SnapshotResult
}

const (
	snapshotEvery = 256 // spec 9.4
	// firstSnapshot: a book that has none gets its first as soon as a cold load had to fold so many commits, which takes as long as three
	// loads with one. What is loaded while it is shorter, as every new member's is, is worth none.
	firstSnapshot = 8
	// snapshotShare: of a long book as much as a sixteenth lies between two, or all that is written of it would grow with its square.
	snapshotShare = 16

	// writtenHere: a book of up to so many times SnapshotEvery is written down by whoever committed last, in at most 4 ms.
	writtenHere = 4

	snapshotPatience = 5 * time.Second // a cold load waits no longer for the store
	snapshotWork     = time.Minute     // what making one may take
)

// errSnapshot: the snapshot doesn't fit the stream. It never leaves the package.
var errSnapshot = errors.New("snapshot_mismatch")

// keeper reads and writes the snapshots of one kind. One is made at a time, and nobody waits for it.
type keeper[S any] struct {
	form *form.Form[kept[S]]
	name string

	turn    chan struct{} // held by whoever makes one
	working sync.WaitGroup
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	closed  sync.Once
}

// kept is all that a book is, without texts. It stands sealed, so that it says nothing to who lacks the member's key.
type kept[S any] struct {
	Version  uint64
	Position uint64
	Hash     string
	Commands []keptCommand // oldest first
	State    S
}

type keptCommand struct {
	ID       events.ID
	Digest   string
	Position uint64
	At       events.Time
}

// newKeeper names the form after everything that a state depends on beside the stream: its type, the code that folds it, and the
// code that decodes events.
func newKeeper[S any](source string) (*keeper[S], error) {
	f, err := form.Of[kept[S]]()
	if err != nil {
		return nil, fmt.Errorf("runner: a state that no snapshot can hold: %w", err)
	}
	sum := sha256.Sum256([]byte("iris/snapshot/v1\n" + f.Digest() + "\n" + source + "\n" + events.Code()))
	k := &keeper[S]{form: f, name: hex.EncodeToString(sum[:]), turn: make(chan struct{}, 1)}
	k.ctx, k.stop = context.WithCancel(context.Background())
	return k, nil
}

// Close ends the snapshot that is being made. Commands may still be run; no more snapshots are.
func (r *Runner[S, C]) Close() {
	if r.keeper == nil {
		return
	}
	r.keeper.closed.Do(func() {
		r.keeper.stop()
		r.keeper.turn <- struct{}{} // nobody makes another
		r.keeper.working.Wait()
	})
}

// cold loads a state that isn't there: from its snapshot, where one stands, up to the head. The trip to the broker waits for nothing but
// the snapshot's place. Beside it, and beside the decoding, the member's keys are fetched and the snapshot is opened.
func (r *Runner[S, C]) cold(ctx context.Context, org string, a events.Aggregate, b *book[S]) error {
	limited, cancel := context.WithTimeout(ctx, snapshotPatience)
	defer cancel()
	var found *kept[S]
	stands, looked := shelved{}, make(chan struct{})
	look := sync.OnceFunc(func() {
		stands = r.shelved(limited, org, a)
		close(looked)
	})
	var beside sync.WaitGroup
	beside.Go(func() {
		r.warm(ctx, org, a)
		if <-looked; stands.box != nil {
			found = r.unseal(limited, org, a, stands)
		}
	})
	messages, err := r.cfg.Log.ToHead(ctx, org, a, func() uint64 {
		look()
		return before(stands.position)
	})
	look() // where the log failed before it asked
	var read decoded
	switch {
	case err != nil:
	case stands.box == nil:
		read = r.decode(ctx, messages)
	default:
		read = r.decode(ctx, tailOf(messages))
	}
	beside.Wait()
	switch {
	case err != nil:
		return unavailable(err)
	case stands.box == nil:
		return r.fromFirst(org, a, b, read)
	case found != nil:
		err := r.resume(a, b, found, messages, read)
		if err == nil {
			r.snapshot(a, SnapshotUsed)
		}
		if !errors.Is(err, errSnapshot) {
			return err
		}
		r.discard(ctx, org, a, found.Position, SnapshotMismatch)
	}
	if messages, err = r.cfg.Log.ToHead(ctx, org, a, func() uint64 { return 0 }); err != nil {
		return unavailable(err)
	}
	return r.fromFirst(org, a, b, r.decode(ctx, messages))
}

func (r *Runner[S, C]) fromFirst(org string, a events.Aggregate, b *book[S], whole decoded) error {
	r.begin(org, a, b)
	if err := r.fold(a, b, whole); err != nil {
		return err
	}
	b.bare = b.version >= min(firstSnapshot, r.cfg.SnapshotEvery)
	return nil
}

// warm fetches the member's keys ahead of need. What fails here fails there.
func (r *Runner[S, C]) warm(ctx context.Context, org string, a events.Aggregate) {
	if warmer, ok := r.cfg.Keys.(events.Warmer); ok && a.Kind == events.AggregateMember {
		_ = warmer.Warm(ctx, org, a.ID, nil)
	}
}

// shelved is a snapshot as it stands in the store. A nil box: none.
type shelved struct {
	version, position uint64
	box               []byte
}

// before is where to read on from, so that the message that a snapshot stands at comes first; the tail is what follows it.
func before(position uint64) uint64 { return max(position, 1) - 1 }

func tailOf(messages []eventlog.Message) []eventlog.Message { return messages[min(1, len(messages)):] }

// shelved looks for the newest snapshot.
func (r *Runner[S, C]) shelved(ctx context.Context, org string, a events.Aggregate) shelved {
	if r.keeper == nil {
		return shelved{}
	}
	version, position, box, err := r.cfg.Snapshots.Load(ctx, org, a, r.keeper.name)
	if err != nil {
		r.snapshot(a, SnapshotFailed)
		return shelved{}
	}
	return shelved{version, position, box}
}

// unseal opens a snapshot, or drops it and returns nil.
func (r *Runner[S, C]) unseal(ctx context.Context, org string, a events.Aggregate, s shelved) *kept[S] {
	plain, err := r.cfg.Keys.Open(ctx, registerOf(org, a), r.keeper.bound(org, a, s.version, s.position), s.box)
	if errors.Is(err, events.ErrTampered) {
		r.discard(ctx, org, a, s.position, SnapshotUnreadable)
		return nil
	}
	if err != nil {
		r.snapshot(a, SnapshotUnreadable)
		return nil
	}
	found, err := r.keeper.form.Read(plain)
	if err != nil || found.Version != s.version || found.Position != s.position {
		r.discard(ctx, org, a, s.position, SnapshotUnreadable)
		return nil
	}
	return found
}

// find reads the newest snapshot, or nil.
func (r *Runner[S, C]) find(ctx context.Context, org string, a events.Aggregate) *kept[S] {
	limited, cancel := context.WithTimeout(ctx, snapshotPatience)
	defer cancel()
	stands := r.shelved(limited, org, a)
	if stands.box == nil {
		return nil
	}
	return r.unseal(limited, org, a, stands)
}

// bound is what a box is tied to: nobody can put one book's in another's place, or an old one in the place of a new one.
func (k *keeper[S]) bound(org string, a events.Aggregate, version, position uint64) []byte {
	return fmt.Appendf(nil, "iris/snapshot/v1\n%s\n%s\n%s\n%d\n%d", org, a, k.name, version, position)
}

func (r *Runner[S, C]) discard(ctx context.Context, org string, a events.Aggregate, position uint64, why SnapshotResult) {
	r.snapshot(a, why)
	_ = r.cfg.Snapshots.Discard(ctx, org, a, position) // it is found out again if it stays
}

func (r *Runner[S, C]) snapshot(a events.Aggregate, result SnapshotResult) {
	r.cfg.ObserveSnapshot(SnapshotObservation{a.Kind, result})
}

// resume goes on from a snapshot: the stream has to have the very message there that it stands at, which is the first of those that were
// read, and what follows has to continue its chain. Else errSnapshot, and the first event is where to begin.
func (r *Runner[S, C]) resume(a events.Aggregate, b *book[S], found *kept[S], messages []eventlog.Message, tail decoded) error {
	if len(messages) == 0 || !found.standsAt(messages[0]) {
		return errSnapshot
	}
	b.state, b.version, b.position, b.hash = found.State, found.Version, found.Position, found.Hash
	b.commands, b.oldest = map[events.ID]remembered{}, nil
	for _, c := range found.Commands {
		b.commands[c.ID] = remembered{c.Digest, c.Position, c.At}
		b.oldest = append(b.oldest, c.ID)
	}
	b.partial, b.bare, b.saved = r.decider.Texts != nil, false, found.Version
	err := r.fold(a, b, tail)
	if errors.Is(err, ErrBroken) {
		return errSnapshot // or the stream's own chain: the fold from the first event says so
	}
	return err
}

// standsAt says whether the stream has the message there that the snapshot was made at: the same bytes, which were read and held against
// their chain then. The seal holds the rest to them.
func (k *kept[S]) standsAt(m eventlog.Message) bool {
	return m.Sequence == k.Position && events.Hash(m.Body) == k.Hash
}

// keep has a snapshot made when it is time. The book is held, so a long one is folded apart. A shorter one is written down here: that takes
// 2 to 4 µs for each of its commits, where to load and fold the newest 256 of them apart took 25 ms from everybody else's processor, an
// eighth of what steady writers used. If another is being made the next commit asks again.
func (r *Runner[S, C]) keep(org string, a events.Aggregate, b *book[S]) {
	k := r.keeper
	if k == nil || !b.bare && b.version < b.saved+max(r.cfg.SnapshotEvery, b.version/snapshotShare) {
		return
	}
	select {
	case k.turn <- struct{}{}:
	default:
		return
	}
	var made *written
	if b.version <= writtenHere*r.cfg.SnapshotEvery {
		made = r.write(b)
	}
	b.bare, b.saved = false, b.version // asked for: if it fails, the next is tried when it would have been time again
	position := b.position
	k.working.Go(func() {
		defer func() { <-k.turn }()
		ctx, cancel := context.WithTimeout(k.ctx, snapshotWork)
		defer cancel()
		err := error(nil)
		if made == nil {
			made, err = r.make(ctx, org, a, position)
		}
		if err == nil && made != nil {
			err = r.save(ctx, org, a, made)
		}
		switch {
		case err != nil && k.ctx.Err() == nil:
			r.snapshot(a, SnapshotFailed)
		case err == nil && made != nil:
			r.snapshot(a, SnapshotSaved)
		}
	})
}

// make folds up to a position, from the snapshot before where there is one, and writes down what came of it: nil where nothing is to be
// saved, as another process may have been here.
func (r *Runner[S, C]) make(ctx context.Context, org string, a events.Aggregate, position uint64) (*written, error) {
	b := &book[S]{}
	if found := r.find(ctx, org, a); found != nil {
		if found.Position >= position {
			return nil, nil
		}
		messages, err := r.cfg.Log.Load(ctx, org, a, before(found.Position), position)
		if err != nil {
			return nil, unavailable(err)
		}
		err = r.resume(a, b, found, messages, r.decode(ctx, tailOf(messages)))
		if err != nil && !errors.Is(err, errSnapshot) {
			return nil, err
		}
	}
	if !b.loaded {
		if err := r.load(ctx, org, a, b, position); err != nil {
			return nil, err
		}
	}
	if b.version < b.saved+r.cfg.SnapshotEvery {
		return nil, nil
	}
	return r.write(b), nil
}

// written is a snapshot that isn't sealed yet.
type written struct {
	version, position uint64
	plain             []byte
	err               error
}

func (r *Runner[S, C]) write(b *book[S]) *written {
	plain, err := r.keeper.form.Write(nil, b.kept())
	return &written{b.version, b.position, plain, err}
}

func (r *Runner[S, C]) save(ctx context.Context, org string, a events.Aggregate, w *written) error {
	if w.err != nil {
		return fmt.Errorf("write a snapshot of %s at %d: %w", a.Kind, w.position, w.err)
	}
	box, err := r.cfg.Keys.Seal(ctx, registerOf(org, a), r.keeper.bound(org, a, w.version, w.position), w.plain)
	if err != nil {
		return fmt.Errorf("seal a snapshot of %s at %d: %w", a.Kind, w.position, err)
	}
	return r.cfg.Snapshots.Save(ctx, org, a, r.keeper.name, w.version, w.position, box)
}

func (b *book[S]) kept() *kept[S] {
	k := &kept[S]{Version: b.version, Position: b.position, Hash: b.hash, State: b.state, Commands: make([]keptCommand, 0, len(b.oldest))}
	for _, id := range b.oldest {
		c := b.commands[id]
		k.Commands = append(k.Commands, keptCommand{id, c.digest, c.position, c.at})
	}
	return k
}
