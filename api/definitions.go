package api

import (
	"slices"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/projections/reader"
)

// Lists of definitions are read at the organisation's head, so that they are never behind. They are newest first, by where each was
// defined first.

func (a *API) programs(c *call) (answer, error) {
	return defined(a, c, c.caller.Defined.Places.Programs, func(key string) programAnswer { return programAnswer{key} })
}

func (a *API) roles(c *call) (answer, error) {
	return defined(a, c, c.caller.Defined.Places.Roles, func(key string) roleAnswer { return roleAnswer{key} })
}

// clients leaves out those that were removed: they act as nothing.
func (a *API) clients(c *call) (answer, error) {
	known := c.caller.Defined.Clients
	acting := slices.DeleteFunc(slices.Clone(c.caller.Defined.Places.Clients), func(p organisation.Place) bool { return len(known[p.Key]) == 0 })
	return defined(a, c, acting, func(key string) clientAnswer { return clientAnswer{key, known[key]} })
}

func (a *API) tenants(c *call) (answer, error) {
	return defined(a, c, c.caller.Defined.Places.Tenants, func(key string) tenantAnswer {
		state := "active"
		switch t := c.caller.Defined.Tenants[key]; {
		case t.Removed:
			state = "removed"
		case t.Quarantined:
			state = "quarantined"
		}
		return tenantAnswer{key, state}
	})
}

func (a *API) terms(c *call) (answer, error) {
	return defined(a, c, c.caller.Defined.Places.Terms, func(id string) acts.Terms { return acts.NewestTerms(c.caller, id) })
}

// defined answers a page of definitions, which come oldest first.
func defined[T any](a *API, c *call, all []organisation.Place, show func(key string) T) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	newest := slices.Clone(all)
	slices.Reverse(newest)
	places, next := reader.Of(page, newest, func(p organisation.Place) reader.Key { return reader.KeyOf(p.Position, p.Key) })
	items := make([]T, 0, len(places))
	for _, p := range places {
		items = append(items, show(p.Key))
	}
	return answer{body: list[T]{items, a.next(c, next)}}, nil
}
