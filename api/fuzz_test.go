package api

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/problems"
	"iris.example/iris/schemas"
)

// bodies is where each request is decoded into.
func bodies() map[string]func() any {
	return map[string]func() any{
		schemas.RequestPropose: func() any { return &acts.Proposal{} }, schemas.RequestAccept: func() any { return &acts.Acceptance{} },
		schemas.RequestDecline: func() any { return &acts.Refusal{} }, schemas.RequestConsent: func() any { return &acts.Decision{} },
		schemas.RequestRecall: func() any { return &acts.Question{} }, schemas.RequestState: func() any { return &acts.Words{} },
		schemas.RequestWithdraw: func() any { return &struct{}{} },
		schemas.RequestRevise:   func() any { return &acts.Edits{} }, schemas.RequestPause: func() any { return &acts.Break{} },
		schemas.RequestNothing: func() any { return &struct{}{} }, schemas.RequestTerms: func() any { return &acts.Publication{} },
		schemas.RequestMember: func() any { return &acts.Enrolment{} }, schemas.RequestMembership: func() any { return &membershipRequest{} },
		schemas.RequestMembershipChange: func() any { return &acts.Membership{} }, schemas.RequestClient: func() any { return &clientRequest{} },
		schemas.RequestPolicy:   func() any { return &map[string]any{} },
		schemas.RequestProducer: func() any { return &producerRequest{} },
		schemas.RequestSettings: func() any { return &acts.SettingsChange{} }, schemas.RequestOptOuts: func() any { return &[]events.OptOut{} },
		schemas.RequestUsed:    func() any { return &acts.UsedMemories{} },
		schemas.RequestSession: func() any { return &acts.Opening{} }, schemas.RequestTurn: func() any { return &acts.Turn{} },
		schemas.RequestItem: func() any { return &acts.Item{} }, schemas.RequestShare: func() any { return &acts.Offer{} },
		schemas.RequestTool: func() any { return &toolRequest{} },
	}
}

func reading(t testing.TB) *API {
	contract, err := schemas.Compile()
	require.NoError(t, err)
	return &API{cfg: Config{Contract: contract}}
}

func (a *API) decode(name string, body []byte, into any) error {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	read, err := a.readBody(Route{Request: name}, r)
	if err != nil {
		return err
	}
	if _, isList := into.(*[]events.OptOut); isList {
		return boundary.DecodeArray(read, into)
	}
	return boundary.Decode(read, into)
}

// TestSchemasAndStructsAgree: what the schema takes has a field to go to, in every published example.
func TestSchemasAndStructsAgree(t *testing.T) {
	t.Parallel()
	a := reading(t)
	for _, route := range Routes() {
		if route.Request == "" {
			continue
		}
		for kind, accepted := range map[string]bool{"valid": true, "invalid": false} {
			files, err := filepath.Glob(filepath.Join("..", "schemas", "examples", "api", route.Request, kind, "*.json"))
			require.NoError(t, err)
			require.NotEmpty(t, files)
			for _, file := range files {
				body, err := os.ReadFile(file)
				require.NoError(t, err)
				err = a.decode(route.Request, body, bodies()[route.Request]())
				require.Equal(t, accepted, err == nil, "%s: %v", file, err)
			}
		}
	}
}

// FuzzBody: whatever comes in is decoded, or refused as bad input; never a fault of ours.
func FuzzBody(f *testing.F) {
	a, requests := reading(f), bodies()
	files, err := filepath.Glob(filepath.Join("..", "schemas", "examples", "api", "*", "*", "*.json"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(filepath.Base(filepath.Dir(filepath.Dir(file))), body)
	}
	f.Add(schemas.RequestPropose, []byte("\"\\ud800\""))
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		into, known := requests[name]
		if !known {
			return
		}
		if err := a.decode(name, body, into()); err != nil {
			p := problems.Of(err)
			require.GreaterOrEqual(t, p.Status, 400, "%v", err)
			require.Less(t, p.Status, 500, "%v", err)
		}
	})
}

// FuzzQuery: a query is read by the table, or refused; what is accepted has only known parameters, once each.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "limit=1&cursor=x", "category=goal", "category=goal&category=fact", "%zz", "a;b", "limit=\x00", "claim=%ff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, route := range Routes() {
			query, err := readQuery(route, raw)
			var refused *problems.Error
			if err != nil {
				require.True(t, errors.As(err, &refused) || errors.Is(err, boundary.ErrRefused), "%v", err)
				continue
			}
			require.LessOrEqual(t, len(query), len(route.Query))
			for _, values := range query {
				require.Len(t, values, 1)
			}
		}
	})
}
