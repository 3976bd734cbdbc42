package recall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	school := "school"
	for name, c := range map[string]struct {
		change func(*recall.Request)
		want   string
	}{
		"as it is":                     {func(*recall.Request) {}, ""},
		"a named adapter scope":        {func(r *recall.Request) { r.AdapterScope = "cross_domain" }, ""},
		"a domain of another":          {func(r *recall.Request) { r.AdapterScope, r.Consumer = "domain:veritas", "tara" }, recall.CodeConsumerNotAllowed},
		"a domain of one's own":        {func(r *recall.Request) { r.AdapterScope, r.Consumer = "domain:tara", "tara" }, ""},
		"a domain of nobody":           {func(r *recall.Request) { r.AdapterScope = "domain" }, recall.CodeInvalidScope},
		"an adapter scope beside kind": {func(r *recall.Request) { r.AdapterScope = "pose" }, recall.CodeInvalidScope},
		"an unknown kind":              {func(r *recall.Request) { r.Scope.Kind = "galaxy" }, recall.CodeInvalidScope},
		"a session without its id":     {func(r *recall.Request) { r.Scope.Kind = events.ScopeSession }, recall.CodeInvalidScope},
		"another tenant's scope": {func(r *recall.Request) {
			r.Scope, r.TenantID, r.Consumer = events.Scope{Kind: "tenant", TenantID: "clinic"}, &school, "metis"
		}, recall.CodeInvalidScope},
		"an unknown context": {func(r *recall.Request) { r.Contexts = []policy.Context{"health", "work"} }, recall.CodeInvalidContext},
		"training":           {func(r *recall.Request) { r.Purpose = "training" }, recall.CodePurposeNotPermitted},
		"no purpose":         {func(r *recall.Request) { r.Purpose = "" }, recall.CodePurposeNotPermitted},
		"shell on notebook":  {func(r *recall.Request) { r.Surface, r.Consumer = "notebook", "shell" }, recall.CodeSurfaceNotAllowed},
		"assistant on admin": {func(r *recall.Request) { r.Surface, r.Purpose = "admin", "inspection" }, recall.CodeSurfaceNotAllowed},
		"admin on assistant": {func(r *recall.Request) { r.Consumer = "admin" }, recall.CodeSurfaceNotAllowed},
		"admin to assist":    {func(r *recall.Request) { r.Surface, r.Consumer = "admin", "admin" }, recall.CodeSurfaceNotAllowed},
		"admin to inspect":   {func(r *recall.Request) { r.Surface, r.Consumer, r.Purpose = "admin", "admin", "inspection" }, ""},
		"admin in a session": {func(r *recall.Request) {
			r.Surface, r.Consumer, r.Purpose, r.Scope = "admin", "admin", "dsar", events.Scope{Kind: "session", SessionID: "s"}
		}, recall.CodeConsumerNotAllowed},
		"brief's budget":      {func(r *recall.Request) { r.Surface = "brief" }, recall.CodeSurfaceNotAllowed},
		"a brief":             {func(r *recall.Request) { r.Surface, r.Purpose = "brief", "brief" }, ""},
		"an unknown surface":  {func(r *recall.Request) { r.Surface = "doorbell" }, ""},
		"an unknown consumer": {func(r *recall.Request) { r.Consumer = "somebody" }, recall.CodeSurfaceNotAllowed},
		"shell and a pose": {func(r *recall.Request) {
			r.Surface, r.Consumer, r.Scope = "shell", "shell", events.Scope{Kind: "pose", SessionID: "s", SceneID: "c", PoseID: "p"}
		}, recall.CodeConsumerNotAllowed},
	} {
		asked := request()
		c.change(&asked)
		err := recall.Admit(asked, policy.Default())
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		var refusal *recall.Refusal
		require.ErrorAs(t, err, &refusal, name)
		require.ErrorIs(t, err, recall.ErrRefused, name)
		require.Equal(t, c.want, refusal.Code, name)
	}
}
