package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/events"
)

const intakePromise = 0.3

// taken: claims of a tenth as many members, from the first publish by their producer to the last outcome that it hears, against raw
// synced publishes of the same size by one writer. That includes a synced publish of each claim to the inbox.
func (b *run) taken(ctx context.Context) (Figure, error) {
	members := max(1, b.cfg.Claims/10)
	if err := b.admitAll(ctx, members); err != nil {
		return Figure{}, err
	}
	ready := b.instance.Ready.NATS
	producer, err := nats.Connect(ready.URL, nats.UserCredentials(ready.Creds), nats.CustomInboxPrefix(ready.InboxPrefix))
	if err != nil {
		return Figure{}, fmt.Errorf("connect as producer: %w", err)
	}
	defer producer.Close()
	outcomes := make(chan *nats.Msg, b.cfg.Claims)
	if _, err := producer.ChanSubscribe("iris.out.acme.conversations", outcomes); err != nil {
		return Figure{}, err
	}
	if err := producer.Flush(); err != nil {
		return Figure{}, err
	}
	size, err := b.lastSize(ctx)
	if err != nil {
		return Figure{}, err
	}
	payload := make([]byte, size)
	raw, err := times(nil, b.cfg.Each, func() error { _, err := b.stream.Publish(ctx, rawSubject, payload); return err })
	if err != nil {
		return Figure{}, err
	}
	began := time.Now()
	if err := b.publishClaims(ctx, producer, ready.Subject, members); err != nil {
		return Figure{}, err
	}
	if err := hearAll(ctx, outcomes, b.cfg.Claims); err != nil {
		return Figure{}, err
	}
	measured := float64(b.cfg.Claims) / time.Since(began).Seconds()
	if err := b.settled(ctx); err != nil {
		return Figure{}, err
	}
	if raw, err = times(raw, b.cfg.Each, func() error { _, err := b.stream.Publish(ctx, rawSubject, payload); return err }); err != nil {
		return Figure{}, err
	}
	ratio := measured / rate(raw)
	return Figure{
		Name:     fmt.Sprintf("intake of %d claims of %d members", b.cfg.Claims, members),
		Measured: fmt.Sprintf("%.0f/s", measured), Raw: fmt.Sprintf("%.0f/s, synced publish", rate(raw)),
		Ratio: ratio, Promise: fmt.Sprintf("≥ %.1f × the raw rate", intakePromise), Met: ratio >= intakePromise,
	}, nil
}

// settled waits for what comes after the last outcome: the raw rounds share the disk with no acknowledgement, and with no list that is being written.
func (b *run) settled(ctx context.Context) error {
	for waiting := true; waiting; {
		var err error
		if _, waiting, err = b.instance.Log.OldestClaim(ctx); err != nil {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	last, err := b.instance.Log.Last(ctx, events.StreamFor("acme"))
	if err != nil {
		return err
	}
	return b.instance.Acts.Visible(ctx, b.ada, last)
}

func (b *run) admitAll(ctx context.Context, members int) error {
	var group errgroup.Group
	group.SetLimit(32)
	for n := range members {
		group.Go(func() error { return b.instance.Admit(ctx, "acme", claimant(n), "Member") })
	}
	return group.Wait()
}

func claimant(n int) string { return fmt.Sprintf("claimant%d@acme.example", n) }

// publishClaims waits for each claim's acknowledgement, as a producer must, with some on their way at once.
func (b *run) publishClaims(ctx context.Context, producer *nats.Conn, subject string, members int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for n := range b.cfg.Claims {
		group.Go(func() error {
			reply, err := producer.RequestWithContext(ctx, subject, claim(n, claimant(n%members)))
			if err != nil {
				return fmt.Errorf("publish claim %d: %w", n, err)
			}
			var ack struct {
				Error *struct {
					Code int `json:"err_code"`
				} `json:"error"`
			}
			if err := json.Unmarshal(reply.Data, &ack); err != nil {
				return err
			}
			if ack.Error != nil {
				return fmt.Errorf("publish claim %d: the inbox answers %d", n, ack.Error.Code)
			}
			return nil
		})
	}
	return group.Wait()
}

func claim(n int, subject string) []byte {
	return fmt.Appendf(nil, `{"specversion":"1.0","id":"bench-%d","source":"/producers/conversations","type":"iris.memory.proposed.v1","datacontenttype":"application/json",`+
		`"data":{"member":{"subject":%q},"program":"default","tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference",`+
		`"subject":"units","body":"Prefers metric units in table number %d of the monthly report.","origin":"model-inferred"}}`, n, subject, n)
}

func hearAll(ctx context.Context, outcomes <-chan *nats.Msg, claims int) error {
	for range claims {
		select {
		case heard := <-outcomes:
			var told struct {
				Data struct {
					Outcome events.ClaimOutcome `json:"outcome"`
					Reason  string              `json:"reason"`
				} `json:"data"`
			}
			if err := json.Unmarshal(heard.Data, &told); err != nil {
				return err
			}
			if told.Data.Outcome != events.OutcomePending {
				return fmt.Errorf("a claim became %s: %s", told.Data.Outcome, told.Data.Reason)
			}
		case <-time.After(time.Minute):
			return fmt.Errorf("no outcome for a minute")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
