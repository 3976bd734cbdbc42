package log_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events/log"
)

// A cluster that has not heard of enough nodes yet, as right after its start, places no stream: whoever founds asks again. No cluster
// can be held in that state, so one is played that refuses each name twice.
func TestFoundingWaitsForTheNodes(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{DontListen: true})
	require.NoError(t, err)
	go s.Start()
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(time.Minute))
	conn, err := nats.Connect("", nats.InProcessServer(s))
	require.NoError(t, err)
	t.Cleanup(conn.Close)

	var mu sync.Mutex // guards what follows
	asked, made := map[string]int{}, map[string]map[string]any{}
	say := func(request *nats.Msg, answer any) {
		data, err := json.Marshal(answer)
		require.NoError(t, err)
		require.NoError(t, request.Respond(data))
	}
	refusal := func(status, code int) any {
		return map[string]any{"error": map[string]int{"code": status, "err_code": code}}
	}
	for subject, answer := range map[string]func(name string, config []byte) any{
		"STREAM.CREATE.": func(name string, config []byte) any {
			if asked[name]++; asked[name] <= 2 {
				return refusal(400, 10005)
			}
			var stream map[string]any
			require.NoError(t, json.Unmarshal(config, &stream))
			delete(stream, "pedantic") // of the request
			made[name] = stream
			return map[string]any{"config": made[name]}
		},
		"STREAM.INFO.": func(name string, _ []byte) any {
			if made[name] == nil {
				return refusal(404, 10059)
			}
			return map[string]any{"config": made[name]}
		},
	} {
		prefix := "$JS.API." + subject
		_, err := conn.Subscribe(prefix+"*", func(request *nats.Msg) {
			mu.Lock()
			defer mu.Unlock()
			say(request, answer(request.Subject[len(prefix):], request.Data))
		})
		require.NoError(t, err)
	}
	l, err := log.New(conn, log.Config{Replicas: 3})
	require.NoError(t, err)
	require.NoError(t, l.CreateOrganisation(context.Background(), "acme"))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, map[string]int{"IRIS_ACME": 3, "IRIS_ACCESS_ACME": 3}, asked)
}
