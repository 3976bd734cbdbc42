package log

import (
	"context"
	"math/rand/v2"
	"time"
)

// settling is how long a message may be refused for one that is before it. A commit takes some tens of milliseconds at most.
const settling = time.Second

// settled sends, and sends again while the leader of a replicated stream has something of that subject in hand (10164). That is no
// word on the expectation: the other may be a fence, which moves no head, or the very message that this writer was just told is
// stored (the leader acknowledges first and puts it out of its hand after, however long it is kept from it: read in its source, and
// seen). What is refused so was taken by nobody, so that it is still sent once; when the other is through, the leader stores it, or
// says that the head is another (10071).
func settled(ctx context.Context, timeout time.Duration, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var began time.Time
	for {
		err := send(ctx)
		if code(err) != codeWrongSequenceR3 {
			return err
		}
		if began.IsZero() {
			began = time.Now()
		}
		select {
		case <-time.After(time.Duration(1+rand.IntN(4)) * time.Millisecond):
		case <-ctx.Done():
			return err
		}
		if time.Since(began) > settling {
			return err
		}
	}
}
