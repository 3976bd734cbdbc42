package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/events/log"
)

// eventsOfOne is what one more memory of a member comes to: the claim, and a yes that supersedes the memory before.
const eventsOfOne = 3

// life is a member whose book is written: its first claims and answers through the runner, the others made after them, because a
// million through the runner would take most of an hour.
type life struct {
	member   events.ID
	head     head
	proposal events.ProposalRecorded // what the next one is made after, opened
	answer   events.MemoryKept
	ends     events.MemorySuperseded
	meta     [3]events.Meta
	last     events.Entry // the memory that stands
	lastAt   events.ID    // its revision
}

type head struct {
	version, sequence uint64
	hash              string
}

// live makes members and gives them memories, until the stream has as many events, and waits for the projector. What is written
// stands as the runner would have written it: sealed under keys of its own, chained, and checked against its schema; members take
// turns in atomic batches.
func (b *run) live(ctx context.Context, want int) error {
	lives := make([]*life, rebuildMembers)
	var group errgroup.Group
	group.SetLimit(24)
	for n := range lives {
		group.Go(func() (err error) { lives[n], err = b.begins(ctx, n); return err })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for done := 2 * eventsOfOne * len(lives); done < want; done += eventsOfOne * len(lives) {
		if err := b.liveOn(ctx, lives); err != nil {
			return err
		}
	}
	last, err := b.instance.Log.Last(ctx, stream("acme"))
	if err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for patient.Err() == nil { // a wait of the API's is shorter than a projector may need for all of this
		if err = b.instance.Acts.Visible(patient, b.ada, last); err == nil {
			return nil
		}
	}
	return err
}

// begins admits a member, who says yes to two claims on the same subject: the second supersedes the first.
func (b *run) begins(ctx context.Context, n int) (*life, error) {
	subject := fmt.Sprintf("member%d@acme.example", n)
	if err := b.instance.Admit(ctx, "acme", subject, "Member"); err != nil {
		return nil, err
	}
	who, err := caller(ctx, b.instance, subject)
	if err != nil {
		return nil, err
	}
	page := who
	page.Principal.Client = b.page.Principal.Client
	var positions []uint64
	for range 2 {
		claim, err := b.propose(ctx, who)
		if err != nil {
			return nil, err
		}
		kept, err := b.instance.Acts.Accept(ctx, page, b.request(b.count.Add(1), "accept"), claim.ProposalID, acts.Acceptance{})
		if err != nil {
			return nil, err
		}
		positions = []uint64{claim.Position, kept.Position}
	}
	return b.learn(ctx, positions[0], positions[1])
}

// learn reads what the second claim and answer came to.
func (b *run) learn(ctx context.Context, claim, answer uint64) (*life, error) {
	claimed, _, err := b.commitAt(ctx, claim)
	if err != nil {
		return nil, err
	}
	answered, hash, err := b.commitAt(ctx, answer)
	if err != nil {
		return nil, err
	}
	l := &life{member: answered.Aggregate.ID, head: head{answered.Version, answer, hash}}
	if len(claimed.Events) != 1 || len(answered.Events) != 2 {
		return nil, errors.New("a claim and a yes were to be three events")
	}
	for i, e := range append(claimed.Events, answered.Events...) {
		l.meta[i] = e.Meta
		switch e := e.Event.(type) {
		case *events.ProposalRecorded:
			l.proposal = *e
		case *events.MemoryKept:
			l.answer = *e
		case *events.MemorySuperseded:
			l.ends = *e
		default:
			return nil, fmt.Errorf("a claim and a yes were to be other events than %s", e.EventType())
		}
	}
	l.last, l.lastAt = l.proposal.Entry, l.answer.RevisionID
	return l, nil
}

func (b *run) commitAt(ctx context.Context, position uint64) (events.Commit, string, error) {
	message, err := b.instance.Log.At(ctx, stream("acme"), position)
	if err != nil {
		return events.Commit{}, "", err
	}
	commit, err := b.instance.Codec.Decode(ctx, position, message.Body)
	return commit, events.Hash(message.Body), err
}

// liveOn gives each member one more memory: their claims in one batch, their answers in another.
func (b *run) liveOn(ctx context.Context, lives []*life) error {
	ids := make([]events.Entry, len(lives))
	err := b.append(ctx, lives, func(i int) (_ []events.Event, err error) {
		l := lives[i]
		if ids[i], err = b.entry(ctx, l.proposal.Entry); err != nil {
			return nil, err
		}
		claim := l.proposal
		claim.Entry = ids[i]
		said := fmt.Sprintf("Prefers metric units in table number %d of the monthly report.", b.count.Add(1))
		claim.Body, claim.Labels, claim.Details = events.Hide(said), events.Hide(claim.Labels.Plain), events.Hide(claim.Details.Plain)
		return []events.Event{&claim}, nil
	})
	if err != nil {
		return err
	}
	return b.append(ctx, lives, func(i int) ([]events.Event, error) {
		l := lives[i]
		revision, err1 := events.RandomID()
		end, err2 := events.RandomID()
		answer, ends := l.answer, l.ends
		answer.Revised = events.Revised{MemoryID: ids[i].MemoryID, RevisionID: revision, PreviousRevisionID: ids[i].RevisionID, KeyID: ids[i].KeyID, Tier: ids[i].Tier}
		answer.Labels = events.Hide(answer.Labels.Plain)
		ends.Revised = events.Revised{MemoryID: l.last.MemoryID, RevisionID: end, PreviousRevisionID: l.lastAt, KeyID: l.last.KeyID, Tier: l.last.Tier}
		ends.Winner = ids[i].MemoryID
		l.last, l.lastAt = ids[i], revision
		return []events.Event{&answer, &ends}, errors.Join(err1, err2)
	})
}

// entry is of a new memory like another.
func (b *run) entry(ctx context.Context, like events.Entry) (events.Entry, error) {
	rows, ok := b.instance.Codec.Keys.(interface {
		Allocate(ctx context.Context, org string) (events.ID, error)
	})
	if !ok {
		return like, errors.New("the vault gives no rows")
	}
	var err1, err2, err3 error
	like.MemoryID, err1 = events.RandomID()
	like.RevisionID, err2 = events.RandomID()
	like.KeyID, err3 = rows.Allocate(ctx, "acme")
	return like, errors.Join(err1, err2, err3)
}

// append appends a commit of each member in one atomic batch.
func (b *run) append(ctx context.Context, lives []*life, facts func(i int) ([]events.Event, error)) error {
	parts := make([]log.Part, len(lives))
	var group errgroup.Group
	for k := range runtime.GOMAXPROCS(0) {
		group.Go(func() (err error) {
			for i := k; i < len(lives) && err == nil; i += runtime.GOMAXPROCS(0) {
				var all []events.Event
				if all, err = facts(i); err == nil {
					parts[i], err = b.sealed(ctx, lives[i], all)
				}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	sequences, err := b.instance.Log.AppendTogether(ctx, "acme", parts)
	if err != nil {
		return err
	}
	for i, l := range lives {
		l.head = head{l.head.version + 1, sequences[i], events.Hash(parts[i].Body)}
	}
	return nil
}

func (b *run) sealed(ctx context.Context, l *life, facts []events.Event) (log.Part, error) {
	now := events.At(b.instance.Now())
	aggregate, command := events.Member(l.member), events.CommandID("bench", strconv.FormatInt(b.count.Add(1), 10))
	commit := events.Commit{
		Organisation: "acme", Aggregate: aggregate, Command: command, Version: l.head.version + 1, PreviousSequence: l.head.sequence, PreviousHash: l.head.hash,
		RequestDigest: string(command),
	}
	for i, fact := range facts {
		meta := l.meta[len(facts)-1+i] // one claims, two answer
		meta.ID, meta.Commit, meta.Time, meta.RecordedAt = events.EntityID(now, command, i), command, now, now
		meta.Trace.Causation, meta.Trace.Correlation = command, command
		commit.Events = append(commit.Events, events.Recorded{Meta: meta, Event: fact})
	}
	body, err := b.instance.Codec.Encode(ctx, commit)
	return log.Part{Aggregate: aggregate, Expected: l.head.sequence, Body: body}, err
}
