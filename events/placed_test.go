package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/events"
)

// Whatever stands in a sealed field is kept and read back, of the forms that are kept short and of any other.
func TestWhatIsKeptIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string, forms ...string) string {
			return rapid.OneOf(rapid.StringMatching("("+rapid.SampledFrom(append(forms, "[a-z]{0,9}")).Draw(t, "form")+")"), rapid.String()).Draw(t, name)
		}
		const uuid, box = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[A-Za-z0-9_-]{0,300}\n?"
		p := events.Placed{
			Field: text("field"), Event: events.ID(text("event", uuid)), Previous: rapid.Uint64().Draw(t, "previous"),
			Key: events.KeyRef{
				Organisation: text("organisation"), Class: events.KeyClass(text("class")), Member: events.ID(text("member", uuid)),
				Tier: events.Tier(text("tier")), Row: events.ID(text("row", uuid)), Entry: text("entry", uuid),
			},
			Aggregate: events.Aggregate{Kind: events.AggregateKind(text("kind")), ID: events.ID(text("aggregate", uuid))},
			Sealed:    events.Sealed{Box: text("box", box), Commitment: text("commitment", box)},
		}
		p.Sealed.Key = p.Key.String()
		if rapid.Bool().Draw(t, "another key") {
			p.Sealed.Key = text("key") + "x"
		}
		read, err := p.Keep().Placed()
		require.NoError(t, err)
		require.Equal(t, p, read)
	})
}

// FuzzKept: whatever is read back is kept as the same again, and nothing panics.
func FuzzKept(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{1})
	f.Add([]byte(events.Placed{Field: "body", Sealed: events.Sealed{Box: "AAAA"}}.Keep()))
	f.Add([]byte(events.Placed{Event: "01a22d2f-efb6-79ce-b4e2-6bd517125322"}.Keep()))
	f.Fuzz(func(t *testing.T, stored []byte) {
		p, err := events.Kept(stored).Placed()
		if err != nil {
			require.ErrorIs(t, err, events.ErrMalformed)
			return
		}
		again, err := p.Keep().Placed()
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}
