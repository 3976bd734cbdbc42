package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/runner"
	"iris.example/iris/screening"
)

// dying is the log of a process that dies at one of its appends: before it reached the broker, or after it was stored.
type dying struct {
	*eventlog.JetStream
	stored bool

	mu   sync.Mutex
	left int // appends that it lives to see answered
}

func (d *dying) Append(ctx context.Context, org string, a events.Aggregate, expected uint64, body []byte) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left--
	if d.left >= 0 {
		return d.JetStream.Append(ctx, org, a, expected, body)
	}
	if d.left == -1 && d.stored {
		if _, err := d.JetStream.Append(ctx, org, a, expected, body); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("the process died: %w", eventlog.ErrAmbiguous)
}

func (d *dying) Head(ctx context.Context, org string, a events.Aggregate) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left < 0 {
		return 0, fmt.Errorf("the process died: %w", eventlog.ErrUnavailable)
	}
	return d.JetStream.Head(ctx, org, a)
}

// dies does a request at a process of its own, which dies on the way.
func (b *bundle) dies(log *dying, r request) {
	b.t.Helper()
	shared := runner.Config{Log: log, Codec: b.acts.Codec, Keys: b.vault, Screen: screening.New(), Now: b.now}
	members, err := runner.Members(shared)
	require.NoError(b.t, err)
	sessions, err := runner.Sessions(shared)
	require.NoError(b.t, err)
	config, shares := b.config, b.acts
	config.Acts = &acts.Acts{
		Members: members, Sessions: sessions, Organisations: shares.Organisations, Roles: shares.Roles, Screen: shares.Screen, Directory: shares.Directory,
		Issuer: shares.Issuer, Recalls: shares.Recalls, Read: shares.Read, Stream: shares.Stream, Codec: shares.Codec, Keys: shares.Keys, Now: shares.Now,
		Intake: shares.Intake, Sealed: shares.Sealed, Parked: shares.Parked, Inbox: shares.Inbox, Credentials: shares.Credentials,
	}
	server := httptest.NewServer(b.handler(config))
	defer server.Close()
	alive := b.server
	b.server = server
	defer func() { b.server = alive }()
	require.Equal(b.t, http.StatusServiceUnavailable, b.do(r).status)
}

// settled counts a session's outcomes in its member's book, and its ends on its own subject.
func (b *bundle) settled(member events.ID, session string) (outcomes, ends int) {
	b.t.Helper()
	for _, a := range []events.Aggregate{events.Member(member), events.Session(events.ID(session))} {
		head, err := b.log.Head(context.Background(), acme, a)
		require.NoError(b.t, err)
		messages, err := b.log.Load(context.Background(), acme, a, 0, head)
		require.NoError(b.t, err)
		for _, m := range messages {
			commit, _, err := events.Read(m.Sequence, m.Body)
			require.NoError(b.t, err)
			for _, e := range commit.Events {
				switch e := e.Event.(type) {
				case *events.SessionItemSettled:
					if string(e.SessionID) == session {
						outcomes++
					}
				case *events.SessionClosed:
					ends++
				}
			}
		}
	}
	return outcomes, ends
}

// TestACloseThatDiesIsFinishedByAnother: whichever of its commits a close dies at, stored or not, another process takes up what
// stands. Each candidate has one outcome, and the session ends once (spec 3.7).
func TestACloseThatDiesIsFinishedByAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	assistant := b.assistant(acme, "ada")
	for survived := range 3 { // the two candidates, and the session's own end
		for _, stored := range []bool{false, true} {
			name := fmt.Sprintf("dies after %d commits, the next stored: %t", survived, stored)
			id := b.session(assistant, "{}")
			wished := b.item(assistant, id, "body", fmt.Sprintf(`"Prefers metric units in table %d%t."`, survived, stored), "subject", fmt.Sprintf(`"table %d%t"`, survived, stored))
			medical := b.item(assistant, id, "body", `"Takes aspirin."`, "category", `"medical"`, "subject", "null")
			b.dies(&dying{JetStream: b.log, left: survived, stored: stored}, post("/v1/sessions/"+id+"/close", assistant, ""))

			outcomes, position := b.close(assistant, id)
			require.Len(t, outcomes, 2, name)
			require.Equal(t, "promoted", outcomes[wished].Outcome, name)
			require.Equal(t, "suppressed", outcomes[medical].Outcome, name)
			settled, ends := b.settled(b.memberID(acme, "ada"), id)
			require.Equal(t, []int{2, 1}, []int{settled, ends}, name)
			kept := 0
			for _, m := range into[listed](b, b.ok(get("/v1/me/memory", b.member(acme, "ada")).waiting(position))).Items {
				if m["memoryId"] == *outcomes[wished].MemoryID {
					kept++
				}
			}
			require.Equal(t, 1, kept, name)
		}
	}
}
