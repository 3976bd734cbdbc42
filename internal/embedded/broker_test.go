package embedded_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/embedded"
)

// The broker is stopped and started again and again while claims and commands come: what was acknowledged is there, once, the read
// models equal a rebuild, and nobody has to help.
func TestBrokerRestartedMeanwhile(t *testing.T) {
	t.Parallel()
	i, instance := start(t, func(c *embedded.Config) { c.NoDemo = true; c.UnsafeNoSync = false })
	p := i.producer()
	acknowledged, position := map[string]any{}, ""
	const rounds, each = 3, 12
	for round := range rounds {
		restarted := make(chan error, 1)
		for n := range each {
			if n == each/2 {
				go func() { restarted <- instance.NATS.Restart(context.Background()) }()
			}
			number := round*each + n
			a := i.settled("assistant", "POST", "/v1/proposals", proposalOf(number), fmt.Sprint("b-", number))
			require.Equal(t, 202, a.status, a.body)
			acknowledged[fmt.Sprintf("Likes the number %d.", number)], position = a.body["proposalId"], a.position
		}
		require.NoError(t, <-restarted)

		id, body := fmt.Sprint("c-", round), fmt.Sprintf("Prefers tea of the sort %d.", round)
		require.Eventually(t, func() bool { // the producer's own connection comes back by itself too
			_, err := p.conn.Request(p.subject, []byte(claim(id, body)), 2*time.Second)
			return err == nil
		}, patience, 50*time.Millisecond)
		for heard := ""; heard != id; { // an earlier one may be heard twice
			told := p.hears()
			require.Contains(t, []any{"pending", "duplicate"}, told["outcome"], told)
			heard = told["claim"].(string)
			acknowledged[body] = told["proposalId"]
			position = told["position"].(string)
		}
	}
	require.Equal(t, acknowledged, i.pending(position))
	require.Eventually(t, func() bool {
		a, err := ask(i.ready, "member", "GET", "/readyz", "")
		return err == nil && a.status == 200
	}, patience, 50*time.Millisecond, "it is well again by itself")
	_, err := instance.Rebuild(context.Background(), embedded.Models{Act: "rebuild"}, nil)
	require.NoError(t, err, "read models equal a rebuild")
}
