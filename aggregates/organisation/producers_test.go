package organisation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
)

// fold decides and applies, as the runner does.
func fold(t *testing.T, s *organisation.State, commands ...organisation.Command) *organisation.State {
	t.Helper()
	for _, c := range commands {
		decided, err := organisation.Decide(s, c, aggregates.Env{})
		require.NoError(t, err)
		for _, e := range decided {
			s = organisation.Evolve(s, events.Recorded{Event: e})
		}
	}
	return s
}

func refused(t *testing.T, s *organisation.State, c organisation.Command, code string) {
	t.Helper()
	_, err := organisation.Decide(s, c, aggregates.Env{})
	refusal, ok := aggregates.AsRefusal(err)
	require.True(t, ok, "%v", err)
	require.Equal(t, code, refusal.Code)
}

func register(key string, fresh bool) organisation.RegisterProducer {
	return organisation.RegisterProducer{Name: "notes", Consumer: events.ConsumerAssistant, PublicKey: key, Fresh: fresh}
}

func TestAProducerIsRevokedForGood(t *testing.T) {
	t.Parallel()
	s := fold(t, organisation.Initial("acme"), organisation.Found{}, register("U1", true))
	refused(t, s, register("U2", true), "producer_exists")
	refused(t, s, organisation.RevokeProducer{Name: "nobody"}, "producer_unknown")

	before := s
	s = fold(t, s, organisation.RevokeProducer{Name: "notes"})
	require.True(t, s.Producers["notes"].Revoked)
	require.False(t, before.Producers["notes"].Revoked, "Evolve leaves the state before as it was")
	again, err := organisation.Decide(s, organisation.RevokeProducer{Name: "notes"}, aggregates.Env{})
	require.NoError(t, err)
	require.Empty(t, again, "it is so already")
	refused(t, s, register("U1", false), "producer_revoked")

	s = fold(t, s, register("U2", true))
	require.Equal(t, organisation.Producer{Name: "notes", Consumer: events.ConsumerAssistant, PublicKey: "U2"}, s.Producers["notes"])
	require.Equal(t, []string{"U1"}, s.RevokedKeys)
}

func TestOtherCredentialsRevokeThoseOfBefore(t *testing.T) {
	t.Parallel()
	s := fold(t, organisation.Initial("acme"), organisation.Found{}, register("U1", false), register("U1", false), register("U2", false))
	require.Equal(t, []string{"U1"}, s.RevokedKeys)
	require.False(t, s.Producers["notes"].Revoked)
	require.Equal(t, "U2", s.Producers["notes"].PublicKey)
}

func TestConsumersAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	s := fold(t, organisation.Initial("acme"), organisation.Found{})
	refused(t, s, organisation.RegisterProducer{Name: "notes", Consumer: "stranger", PublicKey: "U1", Fresh: true}, "consumer_unknown")
	refused(t, s, organisation.RegisterClient{Client: "app", Consumers: []events.Consumer{events.ConsumerAssistant, "stranger"}}, "consumer_unknown")
}

// A claim's command id and a registration's are of the same parts (spec 9.2): no new producer can be named as the registration is. One
// that was goes on.
func TestNoProducerIsCalledRegistration(t *testing.T) {
	t.Parallel()
	s := fold(t, organisation.Initial("acme"), organisation.Found{})
	named := func(key string) organisation.RegisterProducer {
		return organisation.RegisterProducer{Name: "registration", Consumer: events.ConsumerAssistant, PublicKey: key}
	}
	refused(t, s, named("U1"), "producer_name_reserved")
	s = organisation.Evolve(s, events.Recorded{Event: &events.ProducerRegistered{Producer: "registration", Consumer: events.ConsumerAssistant, PublicKey: "U1"}})
	s = fold(t, s, named("U2"))
	require.Equal(t, "U2", s.Producers["registration"].PublicKey)
}
