package api

import (
	"net/http"

	"iris.example/iris/acts"
	"iris.example/iris/identity"
	"iris.example/iris/schemas"
)

// administration is the administrator's part of the table (spec 9.6, 10.9): all of it takes iris.admin.
func administration() []Route {
	command := func(method, pattern, request string, answers any, summary string, handle func(*API, *call) (answer, error)) Route {
		return Route{
			Method: method, Pattern: "/v1/admin/" + pattern, Who: Principal, Permission: identity.Admin, Request: request, Command: true,
			Success: http.StatusOK, Answer: answers, Summary: summary, handle: handle,
		}
	}
	defined := func(pattern string, answers any, summary string, handle func(*API, *call) (answer, error)) Route {
		return Route{
			Method: http.MethodGet, Pattern: "/v1/admin/" + pattern, Who: Principal, Permission: identity.Admin,
			Success: http.StatusOK, Answer: answers, Summary: summary, handle: handle,
		}
	}
	paging := func(pattern string, answers any, summary string, handle func(*API, *call) (answer, error)) Route {
		r := defined(pattern, answers, summary, handle)
		r.Query = paged()
		return r
	}
	listed := func(pattern string, answers any, summary string, handle func(*API, *call) (answer, error)) Route {
		r := paging(pattern, answers, summary, handle)
		r.Waits = true
		return r
	}
	one := defined("members/{member}", acts.Person{}, "One member, with the name that they are shown by", (*API).person)
	one.Waits = true
	const put, remove = http.MethodPut, http.MethodDelete
	return []Route{
		paging("programs", list[programAnswer]{}, "The organisation's programs", (*API).programs),
		command(put, "programs/{program}", "", programAnswer{}, "Define a program", (*API).defineProgram),
		paging("roles", list[roleAnswer]{}, "The organisation's workbench roles", (*API).roles),
		command(put, "roles/{role}", "", roleAnswer{}, "Define a workbench role", (*API).defineRole),
		listed("roles/{role}/holders", list[acts.Holder]{}, "Who holds a workbench role now", (*API).holders),
		command(put, "roles/{role}/holders/{member}", "", holdingAnswer{}, "Give a member a workbench role", (*API).giveRole),
		command(remove, "roles/{role}/holders/{member}", "", holdingAnswer{}, "Take a workbench role from a member", (*API).takeRole),
		listed("inspection-roles/{role}/holders", list[acts.Holder]{}, "Who holds an inspection role now", (*API).inspectionHolders),
		command(put, "inspection-roles/{role}/holders/{member}", "", holdingAnswer{}, "Give an operator an inspection role", (*API).giveInspectionRole),
		command(remove, "inspection-roles/{role}/holders/{member}", "", holdingAnswer{}, "Take an inspection role from an operator", (*API).takeInspectionRole),

		listed("members", list[acts.Person]{}, "The organisation's members, by opaque id, with memberships and roles", (*API).people),
		command(put, "members", schemas.RequestMember, enrolledAnswer{}, "Register an identity provider's subject, or find its member", (*API).enrol),
		one,
		command(remove, "members/{member}", "", removedAnswer{}, "The user is gone: close the book and forget who it was", (*API).removeMember),
		command(http.MethodPost, "memberships", schemas.RequestMembershipChange, changedAnswer{}, "One line of a feed of membership changes", (*API).changeMembership),
		command(put, "memberships/{member}/{program}", schemas.RequestMembership, membershipAnswer{}, "Start or resume a membership", (*API).join),
		command(remove, "memberships/{member}/{program}", "", membershipAnswer{}, "End a membership", (*API).leave),

		paging("clients", list[clientAnswer]{}, "The clients that act as consumers", (*API).clients),
		command(put, "clients/{client}", schemas.RequestClient, clientAnswer{}, "Say as which consumers a client may act", (*API).registerClient),
		command(remove, "clients/{client}", "", clientAnswer{}, "Take every consumer from a client", (*API).removeClient),
		defined("policy", policyAnswer{}, "The policy in force", (*API).policy),
		command(put, "policy", schemas.RequestPolicy, policyAnswer{}, "Put a policy in force; one that weakens a given rule is refused", (*API).applyPolicy),
		paging("tenants", list[tenantAnswer]{}, "The organisation's tenants", (*API).tenants),
		command(put, "tenants/{tenant}", "", tenantAnswer{}, "Serve a tenant", (*API).defineTenant),
		command(remove, "tenants/{tenant}", "", tenantAnswer{}, "Serve a tenant no longer", (*API).removeTenant),
		command(put, "tenants/{tenant}/quarantine", "", tenantAnswer{}, "Suppress a tenant's entries", (*API).quarantine),
		command(remove, "tenants/{tenant}/quarantine", "", tenantAnswer{}, "End a tenant's quarantine", (*API).release),
	}
}
