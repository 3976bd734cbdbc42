package organisation_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
)

// Whatever happens to definitions, each that is known has one place in the order in which they were first made, and keeps it.
func TestADefinitionKeepsItsPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s, position := organisation.Initial("acme"), uint64(0)
		do := func(c organisation.Command) {
			decided, err := organisation.Decide(s, c, aggregates.Env{})
			if _, is := aggregates.AsRefusal(err); is {
				return
			}
			require.NoError(rt, err)
			position++
			for _, e := range decided {
				s = organisation.Evolve(s, events.Recorded{Meta: events.Meta{Position: position}, Event: e})
			}
		}
		do(organisation.Found{})
		for range rapid.IntRange(1, 30).Draw(rt, "commands") {
			before := s
			name := fmt.Sprint("n", rapid.IntRange(0, 4).Draw(rt, "name"))
			switch rapid.IntRange(0, 7).Draw(rt, "command") {
			case 0:
				do(organisation.DefineProgram{Program: name})
			case 1:
				do(organisation.DefineRole{Role: name})
			case 2:
				do(organisation.RegisterClient{Client: name, Consumers: []events.Consumer{events.ConsumerAssistant}})
			case 3:
				do(organisation.RemoveClient{Client: name})
			case 4:
				do(organisation.DefineTenant{Tenant: name})
			case 5:
				do(organisation.RemoveTenant{Tenant: name})
			case 6:
				do(organisation.Quarantine{Tenant: name})
			case 7:
				do(organisation.PublishTerms{ID: name, Version: fmt.Sprint(rapid.IntRange(1, 3).Draw(rt, "version")), Locale: "en", Text: "We keep it."})
			}
			for kind, lists := range map[string][2][]organisation.Place{
				"programs": {before.Places.Programs, s.Places.Programs}, "roles": {before.Places.Roles, s.Places.Roles},
				"terms": {before.Places.Terms, s.Places.Terms}, "clients": {before.Places.Clients, s.Places.Clients},
				"tenants": {before.Places.Tenants, s.Places.Tenants},
			} {
				was, is := lists[0], lists[1]
				require.LessOrEqual(rt, len(is), len(was)+1, kind)
				require.Equal(rt, len(was), len(is[:len(was)]), kind)
				require.ElementsMatch(rt, was, is[:len(was)], kind)
				for i := 1; i < len(is); i++ {
					require.Greater(rt, is[i].Position, is[i-1].Position, kind)
				}
			}
		}
		require.ElementsMatch(rt, keys(s.Programs), named(s.Places.Programs))
		require.ElementsMatch(rt, keys(s.Roles), named(s.Places.Roles))
		require.ElementsMatch(rt, keys(s.Current), named(s.Places.Terms))
		require.ElementsMatch(rt, keys(s.Clients), named(s.Places.Clients))
		require.ElementsMatch(rt, keys(s.Tenants), named(s.Places.Tenants))
	})
}

func keys[V any](m map[string]V) []string {
	all := []string{}
	for k := range m {
		all = append(all, k)
	}
	return all
}

func named(places []organisation.Place) []string {
	all := []string{}
	for _, p := range places {
		all = append(all, p.Key)
	}
	return all
}
