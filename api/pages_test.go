package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/api"
	"iris.example/iris/identity"
)

// whole are the lists that something bounds, so that they are answered whole.
func whole() map[string]string {
	return map[string]string{
		"/v1/me/consents": "one item for each key that there is",
		"/v1/me/opt-outs": "256, which is the most that a PUT takes",
		"/v1/tools":       "the tools of this build",
	}
}

// Every list is {"items", "next"} and has pages, unless it can't grow (spec 10).
func TestEveryListHasPages(t *testing.T) {
	t.Parallel()
	bounded := whole()
	for _, route := range api.Routes() {
		answers := reflect.TypeOf(route.Answer)
		if route.Method != http.MethodGet || answers.Kind() != reflect.Struct {
			continue
		}
		_, lists := answers.FieldByName("Next")
		var names []string
		for _, p := range route.Query {
			names = append(names, p.Name)
		}
		paged := slices.Contains(names, "limit") && slices.Contains(names, "cursor")
		if _, is := bounded[route.Pattern]; is {
			require.True(t, lists && !paged, route.Pattern)
			delete(bounded, route.Pattern)
			continue
		}
		require.Equal(t, lists, paged, route.Pattern)
	}
	require.Empty(t, bounded, "lists that are not there any more")
}

// growing is a list that can be added to.
type growing struct {
	path, token, key string
	add              func(n int) // makes one more
}

// pages reads a list to its end, one page after the other; meanwhile is called between two.
func (b *bundle) pages(l growing, limit int, meanwhile func()) (items []map[string]any) {
	b.t.Helper()
	separator := "?"
	if strings.Contains(l.path, "?") {
		separator = "&"
	}
	for at := fmt.Sprint(l.path, separator, "limit=", limit); ; {
		page := into[listed](b, b.ok(get(at, l.token)))
		require.NotNil(b.t, page.Items)
		items = append(items, page.Items...)
		if page.Next == nil {
			return items
		}
		require.Len(b.t, page.Items, limit)
		at = fmt.Sprint(l.path, separator, "limit=", limit, "&cursor=", url.QueryEscape(*page.Next))
		meanwhile()
	}
}

func keysIn(items []map[string]any, key string) []string {
	all := []string{}
	for _, item := range items {
		all = append(all, item[key].(string))
	}
	return all
}

// curated has ada's lessons before the curators of a role; ben curates, and ruth holds the role.
type curated struct {
	*bundle
	role, ada, ben, ruth string
}

func (b *bundle) curated(role string) curated {
	b.admit(context.Background(), acme, "ruth")
	admin := b.admin(acme)
	b.ok(put("/v1/admin/roles/"+role, admin, ""))
	b.ok(put("/v1/admin/roles/"+role+"/holders/"+string(b.memberID(acme, "ruth")), admin, ""))
	return curated{b, role, b.member(acme, "ada"), b.persona(acme, "ben", 4, identity.RoleMemoryManage), b.persona(acme, "ruth", 4, identity.RoleMemoryRead)}
}

func (c curated) path() string { return "/v1/role-memory/" + c.role }

func (c curated) offer(n int) (path string) {
	c.t.Helper()
	mine, _ := c.own(c.ada, "kind", `"lesson"`, "subject", fmt.Sprintf(`"s-%s-%d"`, c.role, n), "body", fmt.Sprintf(`"Lesson %d of a %s: count twice."`, n, c.role))
	share := post("/v1/programs/default/agent-memory/"+mine[len("/v1/me/memory/"):]+"/propose-share", c.ada, `{"role":"`+c.role+`"}`)
	return c.path() + "/candidates/" + into[candidate](c.bundle, c.ok(share)).CandidateID
}

func (c curated) accept(n int) string {
	at := c.offer(n)
	c.ok(post(at+"/accept", c.ben, ""))
	return at
}

func (c curated) publish(n int) { c.ok(post(c.accept(n)+"/confirm", c.ruth, "")) }

// Every page once: whatever is added between two pages, each item that was there is on one of them and none is on two.
func TestListsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.admin(acme)
	c := b.curated("reviewer")
	confirming, offering := b.curated("confirmer"), b.curated("curator")
	mine, revision := b.own(c.ada)
	lists := map[string]growing{
		"programs": {"/v1/admin/programs", admin, "program", func(n int) { b.ok(put(fmt.Sprint("/v1/admin/programs/p-", n), admin, "")) }},
		"roles":    {"/v1/admin/roles", admin, "role", func(n int) { b.ok(put(fmt.Sprint("/v1/admin/roles/r-", n), admin, "")) }},
		"tenants":  {"/v1/admin/tenants", admin, "tenant", func(n int) { b.ok(put(fmt.Sprint("/v1/admin/tenants/t-", n), admin, "")) }},
		"clients": {"/v1/admin/clients", admin, "client", func(n int) {
			b.ok(put(fmt.Sprint("/v1/admin/clients/", strings.Repeat("c", 120), "-", n), admin, `{"consumers":["shell"]}`))
		}},
		"terms": {"/v1/terms", admin, "id", func(n int) {
			b.ok(post("/v1/admin/terms", admin, fmt.Sprintf(`{"id":"t-%d","version":"1","locale":"en","text":"We keep it."}`, n)))
		}},
		"candidates":    {offering.path() + "/candidates", offering.ben, "candidateId", func(n int) { offering.offer(n) }},
		"those offered": {offering.path() + "/candidates?state=submitted", offering.ben, "candidateId", func(n int) { offering.offer(n + 100) }},
		"to confirm":    {confirming.path() + "/to-confirm", confirming.ruth, "candidateId", func(n int) { confirming.accept(n) }},
		"versions":      {c.path(), c.ruth, "versionId", func(n int) { c.publish(n) }},
		"history": {mine + "/history", c.ada, "revisionId", func(n int) {
			revision = *into[kept](b, b.ok(patch(mine, c.ada, revision, fmt.Sprintf(`{"body": "Answer number %d."}`, n)))).RevisionID
		}},
	}
	for name, list := range lists {
		n := 0
		grow := func() {
			list.add(n)
			n++
		}
		for range 5 {
			grow()
		}
		there := into[listed](b, b.ok(get(list.path, list.token))).Items
		require.GreaterOrEqual(t, len(there), 5, name)
		for _, limit := range []int{1, 2, 4} {
			require.Equal(t, there, b.pages(list, limit, func() {}), "%s in pages of %d", name, limit)
		}
		require.Equal(t, keysIn(there, list.key), keysIn(b.pages(list, 2, grow), list.key), "%s, which grows meanwhile: what is new stands before the first page", name)
		require.Equal(t, keysIn(there, list.key), keysIn(into[listed](b, b.ok(get(list.path, list.token))).Items, list.key)[n-5:], "%s: newest first", name)
	}
}

// What moves on between two pages, is taken away or defined again keeps its place.
func TestWhatChangesBetweenTwoPagesKeepsItsPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin, c := b.admin(acme), b.curated("reviewer")
	for n := range 4 {
		b.ok(put(fmt.Sprint("/v1/admin/tenants/t-", n), admin, ""))
		b.ok(put(fmt.Sprint("/v1/admin/clients/c-", n), admin, `{"consumers":["shell"]}`))
	}
	tenants := growing{"/v1/admin/tenants", admin, "tenant", nil}
	require.Equal(t, []string{"t-3", "t-2", "t-1", "t-0"}, keysIn(b.pages(tenants, 1, func() {
		b.ok(remove("/v1/admin/tenants/t-1", admin))
		b.ok(put("/v1/admin/tenants/t-1", admin, ""))
		b.ok(put("/v1/admin/tenants/t-0/quarantine", admin, ""))
	}), "tenant"))
	clients := growing{"/v1/admin/clients", admin, "client", nil}
	require.Equal(t, []string{"c-3", "c-2", "c-0"}, keysIn(b.pages(clients, 2, func() { // the page's last item is taken away, and one more
		b.ok(remove("/v1/admin/clients/c-2", admin))
		b.ok(remove("/v1/admin/clients/c-1", admin))
	}), "client")[:3])

	var offered []string
	for n := range 4 {
		offered = append(offered, c.offer(n))
	}
	candidates := growing{c.path() + "/candidates", c.ben, "candidateId", nil}
	next := 0
	got := keysIn(b.pages(candidates, 1, func() {
		b.ok(post(offered[next]+"/accept", c.ben, "")) // the oldest first
		next++
	}), "candidateId")
	slices.Reverse(got)
	for n, path := range offered {
		require.True(t, strings.HasSuffix(path, got[n]), "%v", got)
	}
}

// A page of a history reads as the same revisions do among all of them: text and labels that a revision kept, its difference to the
// one before, its provenance.
func TestAPageOfHistoryIsAPieceOfTheWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.member(acme, "ada")
	mine, revision := b.own(ada)
	edit := func(body string) {
		revision = *into[kept](b, b.ok(patch(mine, ada, revision, body))).RevisionID
	}
	move := func(to string) {
		revision = into[struct{ RevisionID string }](b, b.ok(post(mine+"/"+to, ada, ""))).RevisionID
	}
	edit(`{"subject": "answers"}`)
	edit(`{"body": "I like long answers."}`)
	for range 3 {
		move("pause")
		move("resume")
	}
	edit(`{"category": "work"}`)
	b.ok(remove(mine, ada))
	move("restore")
	type chain struct {
		Items []acts.Revision
		Next  *string
	}
	all := into[chain](b, b.ok(get(mine+"/history", ada))).Items
	require.Len(t, all, 12)
	require.Equal(t, "I like long answers.", all[0].Body)
	require.Equal(t, "answers", all[0].Subject)
	for limit := 1; limit <= 12; limit++ {
		var read []acts.Revision
		query := fmt.Sprint("?limit=", limit)
		for at := query; at != ""; {
			page := into[chain](b, b.ok(get(mine+"/history"+at, ada)))
			read = append(read, page.Items...)
			if at = ""; page.Next != nil {
				at = query + "&cursor=" + *page.Next
			}
		}
		require.Equal(t, all, read, "in pages of %d", limit)
	}

	// A conflict shows both revisions, however far apart they are.
	got := b.do(patch(mine, ada, string(all[11].RevisionID), `{"body": "Late."}`))
	require.Equal(t, http.StatusPreconditionFailed, got.status, got)
	conflict := into[struct{ Current, Named *acts.Revision }](b, got)
	require.Equal(t, &all[0], conflict.Current)
	require.Equal(t, &all[11], conflict.Named)
	got = b.do(patch(mine, ada, unknownID, `{"body": "Late."}`))
	require.Equal(t, http.StatusPreconditionFailed, got.status, got)
	require.Nil(t, into[struct{ Current, Named *acts.Revision }](b, got).Named)
}

// A cursor is of one list of one caller: at any other it is refused, and never widens what is shown.
func TestACursorIsOfOneList(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin, c := b.admin(acme), b.curated("reviewer")
	other := b.curated("reader")
	for n := range 2 {
		b.ok(put(fmt.Sprint("/v1/admin/programs/p-", n), admin, ""))
		b.ok(put(fmt.Sprint("/v1/admin/tenants/t-", n), admin, ""))
		b.ok(post("/v1/admin/terms", admin, fmt.Sprintf(`{"id":"t-%d","version":"1","locale":"en","text":"We keep it."}`, n)))
		c.publish(n)
		c.accept(n + 2)
	}
	mine, first := b.own(c.ada)
	b.ok(patch(mine, c.ada, first, `{"body": "Otherwise."}`))
	another, _ := b.own(c.ada, "body", `"Of something else."`, "subject", `"else"`)

	carl := b.persona(acme, "ada", 4, identity.RoleMemoryManage, identity.RoleMemoryRead)
	foreigner := b.persona(borealis, "ben", 4, identity.RoleMemoryManage, identity.RoleMemoryRead)
	lists := map[string]string{ // path → who reads it
		"/v1/admin/programs": admin, "/v1/admin/roles": admin, "/v1/admin/tenants": admin, "/v1/admin/clients": admin, "/v1/terms": admin,
		c.path() + "/candidates": c.ben, c.path() + "/candidates?state=accepted": c.ben, c.path(): c.ruth, c.path() + "?state=published": c.ruth,
		c.path() + "/to-confirm": c.ruth, mine + "/history": c.ada, "/v1/me/memory": c.ada,
	}
	foreign := map[string]string{
		"/v1/admin/programs": b.admin(borealis), "/v1/admin/tenants": b.admin(borealis), "/v1/terms": b.member(borealis, "ada"),
		c.path() + "/candidates": foreigner, c.path() + "/to-confirm": foreigner, c.path(): foreigner, mine + "/history": b.member(borealis, "ada"),
	}
	with := func(path, parameter string) string {
		if strings.Contains(path, "?") {
			return path + "&" + parameter
		}
		return path + "?" + parameter
	}
	for path, token := range lists {
		for _, limit := range []string{"0", "-1", "201", "05", "ten"} {
			b.refused(get(with(path, "limit="+limit), token), http.StatusBadRequest, "invalid_limit")
		}
		for _, cursor := range []string{"", "AQAAAAAAAAAB", "!"} {
			b.refused(get(with(path, "cursor="+cursor), token), http.StatusBadRequest, "invalid_cursor")
		}
		b.refused(get(with(path, "offset=1"), token), http.StatusBadRequest, "unknown_parameter")
		page := into[listed](b, b.ok(get(with(path, "limit=1"), token)))
		if page.Next == nil {
			require.Contains(t, path, "state=published", "of one kind one version stands")
			continue
		}
		for elsewhere, who := range lists {
			if elsewhere != path {
				b.refused(get(with(elsewhere, "cursor="+*page.Next), who), http.StatusBadRequest, "invalid_cursor")
			}
		}
		if who := foreign[path]; who != "" {
			b.refused(get(with(path, "cursor="+*page.Next), who), http.StatusBadRequest, "invalid_cursor")
		}
		altered := []byte(*page.Next)
		altered[len(altered)/2] ^= 1
		b.refused(get(with(path, "cursor="+url.QueryEscape(string(altered))), token), http.StatusBadRequest, "invalid_cursor")
		b.ok(get(with(path, "cursor="+*page.Next), token))
		b.ok(get(with(path, "limit=200&cursor="+*page.Next), token)) // of a list, not of a page's size
	}
	page := into[listed](b, b.ok(get(c.path()+"/candidates?limit=1", c.ben)))
	b.refused(get(c.path()+"/candidates?cursor="+*page.Next, carl), http.StatusBadRequest, "invalid_cursor") // another curator
	b.refused(get(other.path()+"/candidates?cursor="+*page.Next, c.ben), http.StatusBadRequest, "invalid_cursor")
	page = into[listed](b, b.ok(get(mine+"/history?limit=1", c.ada)))
	b.refused(get(another+"/history?cursor="+*page.Next, c.ada), http.StatusBadRequest, "invalid_cursor")
	b.refused(get(c.path()+"/candidates?state=new", c.ben), http.StatusBadRequest, "invalid_parameter")
	b.refused(get(c.path()+"?state=accepted", c.ruth), http.StatusBadRequest, "invalid_parameter")
}

// With a page of versions come the newest that wait, and where the list of those goes on.
func TestRoleMemorySaysWhereMoreWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.curated("reviewer")
	for n := range 3 {
		c.accept(n)
	}
	type answer struct {
		Items               []map[string]any
		ToConfirm           []map[string]any
		Next, ToConfirmNext *string
	}
	all := into[answer](b, b.ok(get(c.path(), c.ruth)))
	require.Len(t, all.ToConfirm, 3)
	require.Nil(t, all.ToConfirmNext)
	got := into[answer](b, b.ok(get(c.path()+"?limit=2&state=published", c.ruth)))
	require.Equal(t, all.ToConfirm[:2], got.ToConfirm)
	rest := into[listed](b, b.ok(get(c.path()+"/to-confirm?cursor="+*got.ToConfirmNext, c.ruth)))
	require.Equal(t, all.ToConfirm[2:], rest.Items)
	b.refused(get(c.path()+"?state=published&cursor="+*got.ToConfirmNext, c.ruth), http.StatusBadRequest, "invalid_cursor")

	// Only who holds the role reads what waits.
	b.refused(get(c.path()+"/to-confirm", b.persona(acme, "ada", 4, identity.RoleMemoryRead)), http.StatusForbidden, "role_not_held")
	b.refused(get(c.path()+"/to-confirm", c.ben), http.StatusForbidden, "permission_missing")
	b.refused(get(c.path()+"/to-confirm", b.persona(borealis, "ada", 4, identity.RoleMemoryRead)), http.StatusForbidden, "role_not_held")
	require.Len(t, into[listed](b, b.ok(get(c.path()+"/candidates?state=accepted", c.ben))).Items, 3)
	require.Empty(t, into[listed](b, b.ok(get(c.path()+"/candidates?state=rejected", c.ben))).Items)
}
