package projections_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/projections/belonging"
	"iris.example/iris/projections/reader"
)

// Who belongs and who holds, as the newest event of each says; another organisation and who was removed is in no list.
func TestBelongings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := newStream("acme")
	ann, ben, cas := s.id(), s.id(), s.id()
	for _, who := range []events.ID{ann, ben, cas} {
		s.commit(who, &events.MemberRegistered{MemberID: who})
		s.commit(who, &events.MembershipStarted{Program: "atlas"}, &events.RoleGiven{Role: "reviewer"})
	}
	at := s.clock.Plus(90 * 24 * time.Hour)
	s.commit(ann, &events.MembershipEnded{Program: "atlas", ForgetAt: at}, &events.InspectionRoleGiven{Role: events.InspectionLegal})
	s.commit(ben, &events.RoleTaken{Role: "reviewer"}, &events.RoleGiven{Role: "reviewer"}, &events.RoleTaken{Role: "reviewer"})
	s.commit(cas, &events.MemberRemoved{MemberID: cas})
	b.project(s)

	b.read("acme", func(ctx context.Context, session *reader.Session) {
		rows, next, err := belonging.Members(ctx, session, reader.Page{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []events.ID{ben}, idsOf(rows))
		rows, next, err = belonging.Members(ctx, session, reader.Page{Limit: 1, Before: next})
		require.NoError(t, err)
		require.Equal(t, []events.ID{ann}, idsOf(rows))
		require.Nil(t, next)

		holders := func(kind belonging.Kind, key string) []events.ID {
			rows, _, err := belonging.Holders(ctx, session, kind, key, reader.Page{})
			require.NoError(t, err)
			return idsOf(rows)
		}
		require.Equal(t, []events.ID{ann}, holders(belonging.Role, "reviewer"))
		require.Equal(t, []events.ID{ben}, holders(belonging.Program, "atlas"))
		require.Equal(t, []events.ID{ann}, holders(belonging.InspectionRole, "legal"))
		require.Empty(t, holders(belonging.Role, "legal"))

		of, err := belonging.One(ctx, session, ann)
		require.NoError(t, err)
		require.Len(t, of, 4)
		for _, row := range of {
			require.Equal(t, row.Kind != belonging.Program, row.Holds, row.Kind)
			if row.Kind == belonging.Program {
				require.Equal(t, at.Time, row.ForgetAt.UTC())
			}
		}
		_, err = belonging.One(ctx, session, cas)
		require.ErrorIs(t, err, reader.ErrNotFound)
	})
	b.read("borealis", func(ctx context.Context, session *reader.Session) {
		rows, _, err := belonging.Members(ctx, session, reader.Page{})
		require.NoError(t, err)
		require.Empty(t, rows)
		_, err = belonging.One(ctx, session, ann)
		require.ErrorIs(t, err, reader.ErrNotFound)
	})
}

func idsOf(rows []belonging.Row) []events.ID {
	ids := []events.ID{}
	for _, r := range rows {
		ids = append(ids, r.MemberID)
	}
	return ids
}
