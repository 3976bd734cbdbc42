package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/runner"
	"iris.example/iris/screening"
)

const (
	smallBook = 10
	largeBook = 10_000

	tailOfSmall = 5

	coldOfSmall = 3 // times a raw batch get
	coldOfLarge = 250 * time.Millisecond
	warm        = 2 * time.Millisecond
	decision    = time.Millisecond
)

// books: what it takes to have a member's book at hand. Cold is a process that has nothing of the member, state or keys.
func (b *run) books(ctx context.Context) ([]Figure, error) {
	var err error
	if b.other, err = b.write(ctx, "other", 0); err != nil {
		return nil, err
	}
	small, err := b.write(ctx, "small", smallBook)
	if err != nil {
		return nil, err
	}
	var large book
	var figures []Figure
	for _, measure := range []func() (Figure, error){
		func() (Figure, error) {
			return b.coldSmall(ctx, small, "no snapshot yet", unsaved{b.instance.Snapshots})
		},
		func() (Figure, error) { return b.coldServed(ctx, &small, 0) },
		func() (Figure, error) { return b.coldServed(ctx, &small, tailOfSmall) },
		func() (_ Figure, err error) {
			if large, err = b.write(ctx, "large", largeBook); err != nil {
				return Figure{}, err
			}
			return b.coldLarge(ctx, large)
		},
		func() (Figure, error) { return b.warm(ctx, large) },
		func() (Figure, error) { return b.decide(ctx, large) },
	} {
		figure, err := measure()
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure)
	}
	return figures, nil
}

// book is a member to be loaded, and what a process would have of it that isn't cold.
type book struct {
	who    acts.Caller
	member events.ID
	keys   []events.ID
	head   uint64
	size   uint64 // commits
}

func (k book) aggregate() events.Aggregate { return events.Member(k.member) }

// write makes a member with so many events, one a commit.
func (b *run) write(ctx context.Context, name string, size uint64) (book, error) {
	subject := name + "@" + unprojected + ".example"
	if err := b.instance.Admit(ctx, unprojected, subject, name); err != nil {
		return book{}, err
	}
	who, err := caller(ctx, b.instance, subject)
	if err != nil {
		return book{}, err
	}
	who.Principal.Client = "iris-pages"
	k := book{who: who, member: who.Member}
	if err := b.written(ctx, &k); err != nil {
		return book{}, err
	}
	return k, b.grow(ctx, &k, size)
}

// grow writes on until the book has so many events.
func (b *run) grow(ctx context.Context, k *book, size uint64) error {
	for ; k.size < size; k.size++ {
		n := b.count.Add(1)
		_, err := b.instance.Acts.Remember(ctx, k.who, b.request(n, "remember"), acts.Words{
			Tier: events.TierIndividual, Kind: events.KindPreference, Category: events.CategoryPreference, Subject: fmt.Sprintf("table %d", n),
			Body: fmt.Sprintf("Prefers metric units in table number %d of the monthly report.", n),
		})
		if err != nil {
			return err
		}
		if b.cfg.Progress != nil && k.size%1000 == 999 {
			fmt.Fprintf(b.cfg.Progress, "iris: %d of %d events of a large book\n", k.size+1, size)
		}
	}
	return b.written(ctx, k)
}

// written counts the commits of a book and names its keys.
func (b *run) written(ctx context.Context, k *book) error {
	err := b.instance.Acts.Members.Look(ctx, unprojected, k.aggregate(), func(s *member.State, at uint64) error {
		k.head, k.keys = at, []events.ID{k.member}
		for _, e := range s.Entries {
			k.keys = append(k.keys, e.KeyID)
		}
		for _, c := range s.Consents {
			k.keys = append(k.keys, c.KeyID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	messages, err := b.instance.Log.Load(ctx, unprojected, k.aggregate(), 0, k.head)
	k.size = uint64(len(messages))
	return err
}

// process is another one's rooms, which hold one live book at a time.
type process struct {
	*runner.Runner[*member.State, member.Command]
	became chan runner.SnapshotResult // of the newest few; whoever measures never waits for it to be heard
}

func (b *run) process(snapshots runner.Snapshots) (process, error) {
	became := make(chan runner.SnapshotResult, 8)
	hear := func(o runner.SnapshotObservation) {
		select {
		case became <- o.Result:
		default:
		}
	}
	r, err := runner.Members(runner.Config{
		Log: b.instance.Log, Keys: b.instance.Vault, Codec: b.instance.Codec, Now: b.instance.Now, Live: 1,
		Snapshots: snapshots, ObserveSnapshot: hear,
	})
	return process{r, became}, err
}

// unsaved are snapshots that nobody adds to: a book that has none gets none.
type unsaved struct{ runner.Snapshots }

func (unsaved) Save(context.Context, string, events.Aggregate, string, uint64, uint64, []byte) error {
	return nil
}

// cold times a load by a process that has nothing of the member, neither state nor keys, and says whether a snapshot served it. What it
// takes to get there isn't timed: looking at another book drops this one.
func (b *run) cold(ctx context.Context, p process, k book) (took time.Duration, served bool, err error) {
	if err := p.look(ctx, b.other); err != nil {
		return 0, false, err
	}
	b.instance.Vault.Forget(k.keys...)
	if err := b.awake(ctx); err != nil {
		return 0, false, err
	}
	began := time.Now()
	err = p.look(ctx, k)
	took = time.Since(began)
	for len(p.became) > 0 {
		served = <-p.became == runner.SnapshotUsed || served
	}
	return took, served, err
}

func (p process) look(ctx context.Context, k book) error {
	return p.Look(ctx, unprojected, k.aggregate(), func(_ *member.State, at uint64) error {
		if at != k.head {
			return errors.New("a load ended short of the head")
		}
		return nil
	})
}

// awake has the organisation's key unwrapped and the connections open, as in every process that has served anybody.
func (b *run) awake(ctx context.Context) error {
	if _, err := b.instance.Vault.Seal(ctx, events.KeyRef{Organisation: unprojected, Class: events.KeyOrganisation}, nil, nil); err != nil {
		return err
	}
	_, _, _, err := b.instance.Snapshots.Load(ctx, unprojected, events.Organisation(), "")
	return err
}

// coldSmall is the promise: a member of few events, in a process that never heard of them. how says what there is to begin from.
func (b *run) coldSmall(ctx context.Context, k book, how string, snapshots runner.Snapshots) (Figure, error) {
	p, err := b.process(snapshots)
	if err != nil {
		return Figure{}, err
	}
	defer p.Close()
	var raw, measured []time.Duration
	served := 0
	for range b.cfg.Rounds {
		if raw, err = times(raw, b.cfg.Each, func() error { return b.batchGet(ctx, k, int(k.size)) }); err != nil {
			return Figure{}, err
		}
		for range b.cfg.Each {
			took, used, err := b.cold(ctx, p, k)
			if err != nil {
				return Figure{}, err
			}
			if measured = append(measured, took); used {
				served++
			}
		}
	}
	ratio := float64(p50(measured)) / float64(p50(raw))
	return Figure{
		Name:     fmt.Sprintf("cold load of a member of %d events, %s", k.size, how),
		Measured: fmt.Sprintf("p50 %s, %d of %d served by a snapshot", p50(measured), served, len(measured)),
		Raw:      "p50 " + p50(raw).String() + ", a batch get of the same messages", Ratio: ratio,
		Promise: fmt.Sprintf("≤ %d × the batch get", coldOfSmall), Met: ratio <= coldOfSmall,
	}, nil
}

// coldServed is the same once a snapshot stands, which the first cold load of such a book brings about, and so many events after it.
func (b *run) coldServed(ctx context.Context, k *book, tail uint64) (Figure, error) {
	if tail == 0 {
		if err := b.first(ctx, *k); err != nil {
			return Figure{}, err
		}
		return b.coldSmall(ctx, *k, "its snapshot at the head", b.instance.Snapshots)
	}
	if err := b.grow(ctx, k, k.size+tail); err != nil {
		return Figure{}, err
	}
	return b.coldSmall(ctx, *k, fmt.Sprintf("%d of them after its snapshot", tail), b.instance.Snapshots)
}

// first loads a book cold and waits for the snapshot that comes of it.
func (b *run) first(ctx context.Context, k book) error {
	p, err := b.process(b.instance.Snapshots)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.look(ctx, k); err != nil {
		return err
	}
	select {
	case result := <-p.became:
		if result != runner.SnapshotSaved {
			return fmt.Errorf("the first snapshot of a small book: %s", result)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// batchGet is what nobody can load a book faster than: one request, all messages of its subject, nothing done with them.
func (b *run) batchGet(ctx context.Context, k book, size int) error {
	inbox := b.conn.NewInbox()
	answers := make(chan *nats.Msg, size+1)
	sub, err := b.conn.ChanSubscribe(inbox, answers)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	request, err := json.Marshal(map[string]any{"seq": 1, "next_by_subj": events.Subject(unprojected, k.aggregate()), "batch": size})
	if err != nil {
		return err
	}
	if err := b.conn.PublishRequest("$JS.API.DIRECT.GET."+events.StreamFor(unprojected), inbox, request); err != nil {
		return err
	}
	for got := 0; ; got++ {
		select {
		case message := <-answers:
			if len(message.Data) > 0 {
				continue
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if got != size {
			return fmt.Errorf("a batch get of %d messages returned %d", size, got)
		}
		return nil
	}
}

func (b *run) coldLarge(ctx context.Context, k book) (Figure, error) {
	p, err := b.process(b.instance.Snapshots)
	if err != nil {
		return Figure{}, err
	}
	defer p.Close()
	var measured []time.Duration
	for range b.cfg.Rounds {
		took, _, err := b.cold(ctx, p, k)
		if err != nil {
			return Figure{}, err
		}
		measured = append(measured, took)
	}
	return within(fmt.Sprintf("cold load of a member of %d events, snapshot and tail", largeBook), measured, coldOfLarge), nil
}

func (b *run) warm(ctx context.Context, k book) (Figure, error) {
	look := func() error {
		return b.instance.Acts.Members.Look(ctx, unprojected, k.aggregate(), func(*member.State, uint64) error { return nil })
	}
	if err := look(); err != nil {
		return Figure{}, err
	}
	measured, err := times(nil, b.cfg.Each, look)
	return within(fmt.Sprintf("warm load of a member of %d events", largeBook), measured, warm), err
}

// decide: the pure part, of words that no memory has and whose subject one has.
func (b *run) decide(ctx context.Context, k book) (Figure, error) {
	print, err := b.instance.Vault.Fingerprinter(ctx, unprojected, k.member)
	if err != nil {
		return Figure{}, err
	}
	who, err := caller(ctx, b.instance, "large@"+unprojected+".example")
	if err != nil {
		return Figure{}, err
	}
	env := aggregates.Env{
		Now: events.At(b.instance.Now()), Received: events.At(b.instance.Now()), Command: events.CommandID("bench"), Policy: who.Defined.Policy,
		Defined: who.Defined, Screen: screening.New(), Print: print, Keys: []events.ID{k.keys[0]},
	}
	var measured []time.Duration
	err = b.instance.Acts.Members.View(ctx, unprojected, k.aggregate(), func(s *member.State, _ uint64) error {
		n := 0
		measured, err = times(nil, b.cfg.Rounds*b.cfg.Each, func() error {
			n++
			_, err := member.Decide(s, member.StateWords{Draft: member.Draft{
				Tier: events.TierIndividual, Kind: events.KindPreference, Program: events.DefaultProgram, Scope: events.Scope{Kind: events.ScopeProfile},
				Category: events.CategoryPreference, Subject: fmt.Sprintf("table %d", n), Body: fmt.Sprintf("Prefers round numbers in report number %d of the year.", n),
			}}, env)
			return err
		})
		return err
	})
	return within(fmt.Sprintf("decide for a member of %d memories, warm", largeBook-smallBook), measured, decision), err
}

// within is a figure that promises a time.
func within(name string, measured []time.Duration, limit time.Duration) Figure {
	if len(measured) == 0 {
		return Figure{Name: name}
	}
	took := p50(measured)
	return Figure{
		Name: name, Measured: fmt.Sprintf("p50 %s, worst %s", took, slices.Max(measured).Round(time.Microsecond)), Raw: limit.String(),
		Ratio: float64(took) / float64(limit), Promise: "p50 ≤ " + limit.String(), Met: took <= limit,
	}
}
