package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
)

func (b *bundle) persona(org, subject string, version int, permissions ...identity.Permission) string {
	return b.mint(devissuer.Claims{Subject: subject, Client: pages, Organisation: org, Permissions: permissions, PersonaVersion: version})
}

type candidate struct {
	CandidateID, State, Body string
	AcceptedBy, ConfirmedBy  *string
	Supersedes, VersionID    *string
	Findings                 []any
}

type roleMemory struct {
	Items     []map[string]any
	ToConfirm []candidate
}

// What must not leave the program is taken out of the text, named in its place, and told to the member and the curator (spec 1.5).
func TestACandidateIsScrubbed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.member(acme, "ada")
	b.ok(put("/v1/admin/roles/reviewer", b.admin(acme), ""))
	path, _ := b.own(ada, "kind", `"lesson"`, "body", `"Ask ada@example.org about units."`)
	call := post("/v1/programs/default/agent-memory/"+path[len("/v1/me/memory/"):]+"/propose-share", ada, `{"role":"reviewer"}`)
	offered := into[candidate](b, b.ok(call))
	want := []any{map[string]any{"item": "email_address", "start": 4.0, "end": 19.0}}
	require.Equal(t, want, offered.Findings, "in the member's own text")
	require.Equal(t, want, into[candidate](b, b.ok(call)).Findings, "offered before")

	curator := b.persona(acme, "ben", 4, identity.RoleMemoryManage)
	got := b.ok(get("/v1/role-memory/reviewer/candidates", curator))
	require.NotContains(t, string(got.body), "ada@")
	require.Contains(t, string(got.body), `"body":"Ask [email address] about units."`)
	require.Contains(t, string(got.body), `"findings":[{"item":"email_address","start":4,"end":19}]`)
}

// Three people make a version, the member takes it back, and nobody reads it any more (spec 1.5, 1.8).
func TestThreePeopleAndAVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.admit(context.Background(), acme, "ruth")
	b.admit(context.Background(), acme, "sam")
	admin, ada := b.admin(acme), b.member(acme, "ada")
	b.ok(put("/v1/admin/roles/reviewer", admin, ""))
	b.ok(put("/v1/admin/roles/reviewer/holders/"+string(b.memberID(acme, "ruth")), admin, ""))
	curator := b.persona(acme, "ben", 4, identity.RoleMemoryRead, identity.RoleMemoryManage)
	ruth, sam := b.persona(acme, "ruth", 4, identity.RoleMemoryRead), b.persona(acme, "sam", 4, identity.RoleMemoryRead)
	share := func(path, program, token string) request {
		return post("/v1/programs/"+program+"/agent-memory/"+path[len("/v1/me/memory/"):]+"/propose-share", token, `{"role":"reviewer"}`)
	}

	// What can't be shared, each with its code.
	leaking, _ := b.own(ada, "kind", `"lesson"`, "body", `"ada@example.org"`)
	b.refused(share(leaking, "default", ada), http.StatusUnprocessableEntity, "scrub_findings") // nothing else would be left
	liked, _ := b.own(ada, "body", `"I like tables in reports."`)
	b.refused(share(liked, "default", ada), http.StatusUnprocessableEntity, "kind_not_promotable")
	path, _ := b.own(ada, "kind", `"lesson"`, "body", `"Check the units before the numbers."`)
	b.refused(share(path, "atlas", ada), http.StatusNotFound, "not_found")
	for _, other := range []string{b.member(acme, "ben"), b.member(borealis, "ada")} {
		b.refused(share(path, "default", other), http.StatusNotFound, "not_found")
	}

	call := share(path, "default", ada).with("Idempotency-Key", "s-1")
	offered := into[candidate](b, b.ok(call))
	require.NotEmpty(t, offered.CandidateID)
	require.Empty(t, offered.Findings)
	require.Equal(t, offered.CandidateID, into[candidate](b, b.ok(call)).CandidateID)
	require.Equal(t, offered.CandidateID, into[candidate](b, b.ok(share(path, "default", ada))).CandidateID, "offered before, as it stands")

	const role = "/v1/role-memory/reviewer"
	at := role + "/candidates/" + offered.CandidateID
	b.refused(get(role+"/candidates", ruth), http.StatusForbidden, "permission_missing")
	b.refused(get(role+"/candidates", b.persona(acme, "ben", 3, identity.RoleMemoryManage)), http.StatusForbidden, "permission_missing")
	b.refused(get(role, sam), http.StatusForbidden, "role_not_held")
	got := b.ok(get(role+"/candidates", curator))
	require.NotContains(t, string(got.body), string(b.memberID(acme, "ada")), "nothing names who offered it")
	require.Len(t, into[listed](b, got).Items, 1)
	b.refused(post(at+"/confirm", ruth, ""), http.StatusConflict, "candidate_moved")
	b.refused(post(at+"/accept", b.persona(acme, "ada", 4, identity.RoleMemoryManage), ""), http.StatusForbidden, "curation_needs_another_person")
	accepted := into[candidate](b, b.ok(post(at+"/accept", curator, "")))
	require.Equal(t, "accepted", accepted.State)
	require.Equal(t, string(b.memberID(acme, "ben")), *accepted.AcceptedBy)
	b.refused(post(at+"/confirm", curator, ""), http.StatusForbidden, "curation_needs_another_person")
	b.refused(post(at+"/confirm", sam, ""), http.StatusForbidden, "role_not_held")
	require.Len(t, into[roleMemory](b, b.ok(get(role, ruth))).ToConfirm, 1)

	confirmed := into[candidate](b, b.ok(post(at+"/confirm", ruth, "")))
	require.Equal(t, "published", confirmed.State)
	require.Equal(t, string(b.memberID(acme, "ruth")), *confirmed.ConfirmedBy)
	read := into[roleMemory](b, b.ok(get(role, ruth)))
	require.Equal(t, "Check the units before the numbers.", read.Items[0]["body"])

	// Another organisation has nothing of it, under the same names.
	other := b.persona(borealis, "ben", 4, identity.RoleMemoryRead, identity.RoleMemoryManage)
	b.refused(get(role+"/candidates", other), http.StatusNotFound, "not_found")
	b.refused(post(at+"/accept", other, ""), http.StatusNotFound, "not_found")

	b.ok(remove(path, ada))
	read = into[roleMemory](b, b.ok(get(role, ruth)))
	require.Nil(t, read.Items[0]["body"], "acknowledged: nobody reads it any more")
	require.Equal(t, "withdrawn", read.Items[0]["state"])
	require.NotNil(t, read.Items[0]["endedAt"])
	reopened := into[listed](b, b.ok(get(role+"/candidates", curator))).Items[0]
	require.Equal(t, "reopened", reopened["state"])
	b.ok(post(at+"/accept", curator, ""))
	b.refused(post(at+"/confirm", ruth, ""), http.StatusConflict, "contributors_missing")
	rejected := into[candidate](b, b.ok(post(at+"/reject", curator, "")))
	require.Equal(t, "rejected", rejected.State)
	require.Empty(t, rejected.Body)
}

// What a withdrawal takes back with it stands in the same commit; the answer and its receipt are about the consent all the same.
func TestAWithdrawalThatTakesBackAnOfferAnswersForTheConsent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.member(acme, "ada")
	b.ok(put("/v1/admin/roles/reviewer", b.admin(acme), ""))
	path, _ := b.own(ada, "kind", `"lesson"`, "body", `"Check the units before the numbers."`)
	b.ok(post("/v1/programs/default/agent-memory/"+path[len("/v1/me/memory/"):]+"/propose-share", ada, `{"role":"reviewer"}`))
	granted := b.consent(ada, "data_storage")["eventId"].(string)

	got := b.ok(post("/v1/me/consents/"+granted+"/withdraw", ada, ""))
	withdrawn := into[struct {
		EventID string
		Receipt json.RawMessage
	}](b, got)
	require.Equal(t, b.consent(ada, "data_storage", got.position)["eventId"], withdrawn.EventID)
	receipt := b.ok(get("/v1/me/consents/"+withdrawn.EventID+"/receipt", ada).waiting(got.position))
	require.JSONEq(t, string(withdrawn.Receipt), string(receipt.body))
	curator := b.persona(acme, "ben", 4, identity.RoleMemoryManage)
	candidate := into[listed](b, b.ok(get("/v1/role-memory/reviewer/candidates", curator))).Items[0]
	require.Equal(t, "withdrawn", candidate["state"])
	require.Empty(t, candidate["body"])
}
