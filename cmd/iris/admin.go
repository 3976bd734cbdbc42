package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"

	"iris.example/iris/policy"
)

// adminCommand is the organisation's administration (spec 9.6), over HTTP as the running Iris's administrator.
type adminCommand struct {
	Programs    adminPrograms    `cmd:"" help:"Programs: list, or define one."`
	Roles       adminRoles       `cmd:"" help:"Workbench roles: list, or define one."`
	Members     adminMembers     `cmd:"" help:"Members: list, show, add, or remove one."`
	Memberships adminMemberships `cmd:"" help:"Who belongs to a program: start, resume or end."`
	Holders     adminHolders     `cmd:"" help:"Who holds a role: list, give or take."`
	Clients     adminClients     `cmd:"" help:"Clients and the consumers that they act as."`
	Terms       adminTerms       `cmd:"" help:"Texts that consents are given under: list, or publish a version."`
	Policy      adminPolicy      `cmd:"" help:"The policy in force: show it, or put another in force."`
	Tenants     adminTenants     `cmd:"" help:"Tenants: list, define, remove, quarantine, release."`
	Feed        adminFeed        `cmd:"" help:"Carry a file of membership changes out, one a line; goes on where it stopped."`
}

// asAdmin is what each of these commands takes.
type asAdmin struct {
	Org  string `help:"Organisation; left out: the first one." placeholder:"ORG"`
	Data string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print the answer as it came."`
}

// do asks one route and prints the answer: whole, or as one line.
func (a asAdmin) do(ctx context.Context, out output, method, path string, body any, line func(map[string]any) string) error {
	iris, err := openClientOf(a.Data, a.Org)
	if err != nil {
		return err
	}
	var answer map[string]any
	if err := iris.ask(ctx, "admin", method, "/v1/admin/"+path, body, &answer); err != nil {
		return answered(err)
	}
	if a.JSON {
		return out.json(answer)
	}
	_, err = fmt.Fprintln(out.Out, line(answer))
	return err
}

// said is a line without anything of the answer.
func said(format string, args ...any) func(map[string]any) string {
	return func(map[string]any) string { return fmt.Sprintf(format, args...) }
}

// list prints every page of a list, a row an item.
func (a asAdmin) list(ctx context.Context, out output, path string, row func(map[string]any) []string, heads ...string) error {
	iris, err := openClientOf(a.Data, a.Org)
	if err != nil {
		return err
	}
	items := []map[string]any{}
	for next := ""; ; {
		var page struct {
			Items []map[string]any `json:"items"`
			Next  *string          `json:"next"`
		}
		at := path + "?limit=200"
		if next != "" {
			at += "&cursor=" + url.QueryEscape(next)
		}
		if err := iris.ask(ctx, "admin", http.MethodGet, at, nil, &page); err != nil {
			return answered(err)
		}
		items = append(items, page.Items...)
		if page.Next == nil {
			break
		}
		next = *page.Next
	}
	if a.JSON {
		return out.json(map[string]any{"items": items})
	}
	table := tabwriter.NewWriter(out.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(heads, "\t"))
	for _, item := range items {
		fmt.Fprintln(table, strings.Join(row(item), "\t"))
	}
	return table.Flush()
}

// named joins what a list of an item says.
func named(v any, words func(map[string]any) string) string {
	all, _ := v.([]any)
	var texts []string
	for _, item := range all {
		if m, is := item.(map[string]any); is {
			texts = append(texts, words(m))
			continue
		}
		texts = append(texts, fmt.Sprint(item))
	}
	if len(texts) == 0 {
		return "-"
	}
	return strings.Join(texts, " ")
}

type adminPrograms struct {
	List   programsList  `cmd:"" help:"List the programs."`
	Define programDefine `cmd:"" help:"Define a program."`
}
type programsList struct{ asAdmin }
type programDefine struct {
	Program string `arg:"" help:"The program: small letters, digits and hyphens."`
	asAdmin
}

func (c programsList) Run(ctx context.Context, out output) error {
	return c.list(ctx, out, "/v1/admin/programs", func(m map[string]any) []string { return []string{fmt.Sprint(m["program"])} }, "PROGRAM")
}

func (c programDefine) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodPut, "programs/"+url.PathEscape(c.Program), nil, said("Program %s is defined.", c.Program))
}

type adminRoles struct {
	List   rolesList  `cmd:"" help:"List the workbench roles."`
	Define roleDefine `cmd:"" help:"Define a workbench role."`
}
type rolesList struct{ asAdmin }
type roleDefine struct {
	Role string `arg:"" help:"The role: small letters, digits and hyphens."`
	asAdmin
}

func (c rolesList) Run(ctx context.Context, out output) error {
	return c.list(ctx, out, "/v1/admin/roles", func(m map[string]any) []string { return []string{fmt.Sprint(m["role"])} }, "ROLE")
}

func (c roleDefine) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodPut, "roles/"+url.PathEscape(c.Role), nil, said("Role %s is defined.", c.Role))
}

type adminMembers struct {
	List   membersList  `cmd:"" help:"List the members: opaque ids, programs and roles."`
	Show   memberShow   `cmd:"" help:"Show one member, with the name that they are shown by."`
	Add    memberAdd    `cmd:"" help:"Register an identity provider's subject."`
	Remove memberRemove `cmd:"" help:"The user is gone: close the book and forget who it was. There is no way back."`
}
type membersList struct{ asAdmin }
type memberShow struct {
	Member string `arg:"" help:"The member's opaque id."`
	asAdmin
}
type memberAdd struct {
	Subject string `arg:"" help:"The subject, as the identity provider's tokens name it."`
	Name    string `help:"How the member is shown to others." placeholder:"NAME"`
	asAdmin
}
type memberRemove struct {
	Member string `arg:"" help:"The member's opaque id."`
	Yes    bool   `help:"Say that you mean it; nothing is done without."`
	asAdmin
}

func programWords(m map[string]any) string {
	if m["state"] == "ended" {
		return fmt.Sprintf("%v(ended)", m["program"])
	}
	return fmt.Sprint(m["program"])
}

func roleWords(m map[string]any) string { return fmt.Sprint(m["role"]) }

func (c membersList) Run(ctx context.Context, out output) error {
	return c.list(ctx, out, "/v1/admin/members", func(m map[string]any) []string {
		return []string{fmt.Sprint(m["memberId"]), named(m["programs"], programWords), named(m["roles"], roleWords), named(m["inspectionRoles"], roleWords)}
	}, "MEMBER", "PROGRAMS", "ROLES", "INSPECTION ROLES")
}

func (c memberShow) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodGet, "members/"+url.PathEscape(c.Member), nil, func(m map[string]any) string {
		return fmt.Sprintf("member\t%v\nname\t%v\nprograms\t%s\nroles\t%s\ninspection roles\t%s", m["memberId"], m["displayName"],
			named(m["programs"], programWords), named(m["roles"], roleWords), named(m["inspectionRoles"], roleWords))
	})
}

func (c memberAdd) Run(ctx context.Context, out output) error {
	body := map[string]string{"subject": c.Subject}
	if c.Name != "" {
		body["displayName"] = c.Name
	}
	return c.do(ctx, out, http.MethodPut, "members", body, func(m map[string]any) string { return fmt.Sprint(m["memberId"]) })
}

// Run does nothing unless --yes is there and true: nobody is asked, and there is no way back.
func (c memberRemove) Run(ctx context.Context, out output) error {
	if !c.Yes {
		return &exit{exitCouldNot, errors.New("nothing was done: a member who is removed can't be brought back; if you mean it, say it with --yes")}
	}
	return c.do(ctx, out, http.MethodDelete, "members/"+url.PathEscape(c.Member), nil, said("Member %s is removed: nobody can name them any longer.", c.Member))
}

type adminMemberships struct {
	Start  membershipStart  `cmd:"" help:"Let a member into a program, or back into it."`
	Resume membershipResume `cmd:"" help:"Let a member back into a program that they left."`
	End    membershipEnd    `cmd:"" help:"End a membership; what the member kept in the program is forgotten after the policy's days."`
}
type membershipOf struct {
	Member  string `arg:"" help:"The member's opaque id."`
	Program string `arg:"" help:"The program."`
	asAdmin
}

func (m membershipOf) path() string {
	return "memberships/" + url.PathEscape(m.Member) + "/" + url.PathEscape(m.Program)
}

type membershipStart struct{ membershipOf }
type membershipResume struct{ membershipOf }
type membershipEnd struct{ membershipOf }

func (c membershipStart) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodPut, c.path(), nil, said("Member %s belongs to %s.", c.Member, c.Program))
}

func (c membershipResume) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodPut, c.path(), map[string]bool{"resume": true}, said("Member %s belongs to %s.", c.Member, c.Program))
}

func (c membershipEnd) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodDelete, c.path(), nil, func(m map[string]any) string {
		if m["forgetAt"] == nil {
			return fmt.Sprintf("Member %s doesn't belong to %s.", c.Member, c.Program)
		}
		return fmt.Sprintf("Member %s left %s. What they kept in it is forgotten on %v unless they come back before.", c.Member, c.Program, m["forgetAt"])
	})
}

type adminHolders struct {
	List holdersList `cmd:"" help:"Who holds a role now."`
	Give holderGive  `cmd:"" help:"Give a member a role."`
	Take holderTake  `cmd:"" help:"Take a role from a member."`
}
type holdersOf struct {
	Role       string `arg:"" help:"The role."`
	Inspection bool   `help:"An inspection role: support, admin, trust-and-safety or legal."`
	asAdmin
}

func (h holdersOf) path() string {
	if h.Inspection {
		return "inspection-roles/" + url.PathEscape(h.Role) + "/holders"
	}
	return "roles/" + url.PathEscape(h.Role) + "/holders"
}

type holdersList struct{ holdersOf }
type holderGive struct {
	holdersOf
	Member string `arg:"" help:"The member's opaque id."`
}
type holderTake struct {
	holdersOf
	Member string `arg:"" help:"The member's opaque id."`
}

func (c holdersList) Run(ctx context.Context, out output) error {
	return c.list(ctx, out, "/v1/admin/"+c.path(), func(m map[string]any) []string {
		return []string{fmt.Sprint(m["memberId"]), fmt.Sprint(m["since"])}
	}, "MEMBER", "SINCE")
}

func (c holderGive) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodPut, c.path()+"/"+url.PathEscape(c.Member), nil, said("Member %s holds %s.", c.Member, c.Role))
}

func (c holderTake) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodDelete, c.path()+"/"+url.PathEscape(c.Member), nil, said("Member %s doesn't hold %s.", c.Member, c.Role))
}

type adminClients struct {
	List   clientsList  `cmd:"" help:"List the clients."`
	Set    clientSet    `cmd:"" help:"Say as which consumers a client may act."`
	Remove clientRemove `cmd:"" help:"Take every consumer from a client."`
}
type clientsList struct{ asAdmin }
type clientSet struct {
	Client    string   `arg:"" help:"The client's id, as its tokens name it."`
	Consumers []string `arg:"" help:"Consumers; the first is meant where a call names none."`
	asAdmin
}
type clientRemove struct {
	Client string `arg:"" help:"The client's id."`
	asAdmin
}

func (c clientsList) Run(ctx context.Context, out output) error {
	return c.list(ctx, out, "/v1/admin/clients", func(m map[string]any) []string {
		return []string{fmt.Sprint(m["client"]), named(m["consumers"], nil)}
	}, "CLIENT", "CONSUMERS")
}

func (c clientSet) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodPut, "clients/"+url.PathEscape(c.Client), map[string]any{"consumers": c.Consumers},
		said("Client %s acts as %s.", c.Client, strings.Join(c.Consumers, " ")))
}

func (c clientRemove) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodDelete, "clients/"+url.PathEscape(c.Client), nil, said("Client %s acts as no consumer.", c.Client))
}

type adminTerms struct {
	List    termsList    `cmd:"" help:"List the newest version of every text."`
	Publish termsPublish `cmd:"" help:"Publish a version of a text; it is never edited."`
}
type termsList struct{ asAdmin }
type termsPublish struct {
	ID      string `arg:"" help:"The text's id."`
	Version string `arg:"" help:"The version."`
	File    string `arg:"" help:"The text, in UTF-8." type:"existingfile"`
	Locale  string `default:"en" help:"Its language."`
	asAdmin
}

func (c termsList) Run(ctx context.Context, out output) error {
	return c.list(ctx, out, "/v1/terms", func(m map[string]any) []string {
		return []string{fmt.Sprint(m["id"]), fmt.Sprint(m["version"]), fmt.Sprint(m["locale"]), fmt.Sprint(m["sha256"])}
	}, "TERMS", "VERSION", "LOCALE", "SHA-256")
}

func (c termsPublish) Run(ctx context.Context, out output) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	body := map[string]string{"id": c.ID, "version": c.Version, "locale": c.Locale, "text": string(text)}
	return c.do(ctx, out, http.MethodPost, "terms", body, said("Terms %s %s are published.", c.ID, c.Version))
}

type adminPolicy struct {
	Show  policyShow  `cmd:"" help:"Show the policy in force."`
	Apply policyApply `cmd:"" help:"Put a policy in force; one that weakens a given rule is refused."`
}
type policyShow struct{ asAdmin }
type policyApply struct {
	File string `arg:"" help:"The document." type:"existingfile"`
	asAdmin
}

func (c policyShow) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, http.MethodGet, "policy", nil, func(m map[string]any) string {
		document, _ := json.MarshalIndent(m["document"], "", "  ")
		return string(document)
	})
}

func (c policyApply) Run(ctx context.Context, out output) error {
	document, err := os.ReadFile(c.File)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	if _, err := checkPolicy(document, out, false); err != nil {
		return err
	}
	return c.do(ctx, out, http.MethodPut, "policy", json.RawMessage(document), func(m map[string]any) string {
		return fmt.Sprintf("Policy %v is in force (SHA-256 %v).", m["version"], m["sha256"])
	})
}

type adminTenants struct {
	List       tenantsList      `cmd:"" help:"List the tenants."`
	Define     tenantDefine     `cmd:"" help:"Serve a tenant."`
	Remove     tenantRemove     `cmd:"" help:"Serve a tenant no longer."`
	Quarantine tenantQuarantine `cmd:"" help:"Suppress a tenant's entries."`
	Release    tenantRelease    `cmd:"" help:"End a tenant's quarantine."`
}
type tenantsList struct{ asAdmin }
type tenantOf struct {
	Tenant string `arg:"" help:"The tenant."`
	asAdmin
}
type tenantDefine struct{ tenantOf }
type tenantRemove struct{ tenantOf }
type tenantQuarantine struct{ tenantOf }
type tenantRelease struct{ tenantOf }

func (t tenantOf) move(ctx context.Context, out output, method, below string) error {
	return t.do(ctx, out, method, "tenants/"+url.PathEscape(t.Tenant)+below, nil, func(m map[string]any) string {
		return fmt.Sprintf("Tenant %s is %v.", t.Tenant, m["state"])
	})
}

func (c tenantsList) Run(ctx context.Context, out output) error {
	return c.list(ctx, out, "/v1/admin/tenants", func(m map[string]any) []string {
		return []string{fmt.Sprint(m["tenant"]), fmt.Sprint(m["state"])}
	}, "TENANT", "STATE")
}

func (c tenantDefine) Run(ctx context.Context, out output) error {
	return c.move(ctx, out, http.MethodPut, "")
}

func (c tenantRemove) Run(ctx context.Context, out output) error {
	return c.move(ctx, out, http.MethodDelete, "")
}

func (c tenantQuarantine) Run(ctx context.Context, out output) error {
	return c.move(ctx, out, http.MethodPut, "/quarantine")
}

func (c tenantRelease) Run(ctx context.Context, out output) error {
	return c.move(ctx, out, http.MethodDelete, "/quarantine")
}

// policyCommand needs no running Iris.
type policyCommand struct {
	Check policyCheck `cmd:"" help:"Check a policy document: what is wrong with it, and what would weaken a given rule."`
}

type policyCheck struct {
	File string `arg:"" help:"The document." type:"existingfile"`
	JSON bool   `name:"json" help:"Print what was found as JSON."`
}

// Run ends with 0 where the policy could be put in force, with 1 where it would be refused, with 2 where it can't be read.
func (c policyCheck) Run(out output) error {
	document, err := os.ReadFile(c.File)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	checked, err := checkPolicy(document, out, c.JSON)
	if err != nil || c.JSON {
		return err
	}
	_, err = fmt.Fprintf(out.Out, "Policy %s would be taken: it weakens no given rule (SHA-256 %s).\n", checked.Version, checked.SHA256())
	return err
}

// checkPolicy prints what is wrong with a document; what comes without an error could be put in force.
func checkPolicy(document []byte, out output, asJSON bool) (*policy.Document, error) {
	parsed, err := policy.Parse(document)
	found := struct {
		Version  string           `json:"version"`
		SHA256   string           `json:"sha256"`
		Problems []policy.Problem `json:"problems"`
	}{Problems: []policy.Problem{}}
	var wrong *policy.Error
	switch {
	case errors.As(err, &wrong):
		found.Problems = wrong.Problems
	case err != nil:
		return nil, &exit{exitCouldNot, err}
	default:
		found.Version, found.SHA256 = parsed.Version, parsed.SHA256()
	}
	if asJSON {
		if err := out.json(found); err != nil {
			return nil, err
		}
	}
	for _, p := range found.Problems {
		if !asJSON {
			fmt.Fprintf(out.Out, "%s at %q: %s\n", p.Code, p.Pointer, p.Reason)
		}
	}
	if len(found.Problems) > 0 {
		return nil, &exit{exitNot, fmt.Errorf("the policy would be refused, for %d of its places; correct them and check it again", len(found.Problems))}
	}
	return parsed, nil
}
