package projections_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/events"
	"iris.example/iris/projections/belonging"
	"iris.example/iris/projections/consents"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/proposals"
)

// life is a memory as the generator knows it.
type life struct {
	member  events.ID
	entry   events.Entry
	current events.ID
}

// draw writes a stream of books that could have happened: every event follows from the ones before.
func draw(t *rapid.T) *stream {
	s := newStream("acme")
	members := []events.ID{s.id(), s.id(), s.id()}
	var drafts, kept []life
	take := func(from *[]life) (life, bool) {
		if len(*from) == 0 {
			return life{}, false
		}
		i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
		l := (*from)[i]
		*from = append((*from)[:i:i], (*from)[i+1:]...)
		return l, true
	}
	for range rapid.IntRange(1, 40).Draw(t, "acts") {
		member := rapid.SampledFrom(members).Draw(t, "member")
		switch rapid.IntRange(0, 14).Draw(t, "act") {
		case 0:
			p := s.proposed("claimed")
			s.commit(member, p)
			drafts = append(drafts, life{member, p.Entry, p.RevisionID})
		case 1:
			if l, ok := take(&drafts); ok {
				answer := s.kept(l.entry, rapid.SampledFrom([]string{"", "edited"}).Draw(t, "edit"))
				s.commit(l.member, answer, &events.ConsentGranted{Consent: s.consent("medical", nil, "")})
				kept = append(kept, life{l.member, l.entry, answer.RevisionID})
			}
		case 2:
			if l, ok := take(&drafts); ok {
				s.commit(l.member, s.declined(l.entry))
			}
		case 3:
			if l, ok := take(&drafts); ok {
				s.commit(l.member, s.refused(l.entry.MemoryID, events.OutcomeKeptExisting, "most-recent-wins"))
			}
		case 4:
			s.commit(member, s.refused(s.id(), events.OutcomeRejected, "injection_suspected"))
		case 5:
			m := s.stated("own words")
			facts := []events.Event{m}
			// The member's own words may end an older memory in the same commit.
			if l, ok := take(&kept); ok && l.member == member {
				facts = append(facts, s.superseded(l.entry, l.current, m.MemoryID))
			}
			s.commit(member, facts...)
			kept = append(kept, life{member, m.Entry, m.RevisionID})
		case 6:
			if l, ok := take(&kept); ok {
				gone := s.forgotten(l.entry, l.current)
				s.commit(l.member, gone)
				if rapid.Bool().Draw(t, "restored after") {
					back := s.restored(l.entry, gone.RevisionID)
					s.commit(l.member, back)
					kept = append(kept, life{l.member, l.entry, back.RevisionID})
				}
			}
		case 7:
			p := s.proposed("kept by setting")
			answer := s.autoKept(p.Entry)
			s.commit(member, p, answer)
			kept = append(kept, life{member, p.Entry, answer.RevisionID})
		case 8:
			key := rapid.SampledFrom([]events.ConsentKey{"medical", "data_storage"}).Draw(t, "key")
			s.commit(member, &events.ConsentWithdrawn{Consent: s.consent(key, nil, s.id())}, &events.ConsentDenied{Consent: s.consent(key, nil, "")})
		case 9:
			s.skip(rapid.IntRange(1, 3).Draw(t, "hole"))
			belongings := [][]events.Event{
				{&events.MemberRegistered{MemberID: member}}, {&events.MemberRemoved{MemberID: member}},
				{&events.MembershipStarted{Program: "atlas"}, &events.RoleGiven{Role: "reviewer"}},
				{&events.MembershipEnded{Program: "atlas", ForgetAt: s.clock.Plus(time.Hour)}}, {&events.MembershipResumed{Program: "atlas"}},
				{&events.RoleTaken{Role: "reviewer"}, &events.RoleGiven{Role: "reviewer"}}, {&events.RoleTaken{Role: "reviewer"}},
				{&events.InspectionRoleGiven{Role: events.InspectionLegal}}, {&events.InspectionRoleTaken{Role: events.InspectionLegal}},
			}
			s.commit(member, rapid.SampledFrom(belongings).Draw(t, "belonging")...)
		case 10:
			if l, ok := take(&kept); ok {
				edit := s.edited(l.entry, l.current, "edited again")
				s.commit(l.member, edit)
				kept = append(kept, life{l.member, l.entry, edit.RevisionID})
			}
		case 11:
			if l, ok := take(&kept); ok {
				var until *events.Time
				if rapid.Bool().Draw(t, "with an end") {
					at := s.clock.Plus(time.Hour)
					until = &at
				}
				pause := s.paused(l.entry, l.current, until)
				s.commit(l.member, pause)
				kept = append(kept, life{l.member, l.entry, pause.RevisionID})
			}
		case 14:
			var gone, over []events.ID
			drafts = slices.DeleteFunc(drafts, func(l life) bool {
				if l.member == member {
					over = append(over, l.entry.MemoryID)
				}
				return l.member == member
			})
			kept = slices.DeleteFunc(kept, func(l life) bool {
				if l.member == member {
					gone = append(gone, l.entry.MemoryID)
				}
				return l.member == member
			})
			s.commit(member, s.swept(gone, over))
		case 13:
			if l, ok := take(&kept); ok {
				promotion := s.promoted(l.entry, l.current)
				s.commit(l.member, promotion)
				kept = append(kept, life{l.member, promotion.Entry, promotion.RevisionID})
			}
		case 12:
			if l, ok := take(&kept); ok {
				resume := s.resumed(l.entry, l.current)
				s.commit(l.member, resume)
				kept = append(kept, life{l.member, l.entry, resume.RevisionID})
			}
		}
	}
	if len(s.messages) == 0 {
		s.commit(members[0], &events.MemberRegistered{MemberID: members[0]})
	}
	return s
}

// The same stream gives the same tables in any batching, however often it is delivered, wherever a line stops and starts; and they
// are what a fold of all events in memory gives.
func TestAnyDeliveryGivesTheSameTables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		sizes := rapid.SliceOfN(rapid.IntRange(1, 7), 1, 5).Draw(t, "batches")

		b.clear()
		b.project(s, func(c *engine.Config) { c.Follow = s.follow(1) })
		want := b.dump()
		requireFold(t, b, s)

		b.project(s, func(c *engine.Config) { c.Follow = s.followAgain(3, sizes...) })
		require.Equal(t, want, b.dump(), "everything again, three times")

		b.clear()
		b.project(s, func(c *engine.Config) { c.Follow = s.follow(sizes...) })
		require.Equal(t, want, b.dump(), "in batches of %v", sizes)

		b.clear()
		b.project(s)
		require.Equal(t, want, b.dump(), "all at once")

		b.clear()
		whole := *s
		cut := rapid.IntRange(1, len(s.messages)).Draw(t, "stop")
		s.messages, s.last = whole.messages[:cut], whole.messages[cut-1].Sequence
		b.project(s)
		s.messages, s.last = whole.messages, whole.last
		b.project(s, func(c *engine.Config) { c.Follow = s.followAgain(2, sizes...) })
		require.Equal(t, want, b.dump(), "stopped at %d and started again", cut)
	})
}

func requireFold(t *rapid.T, b *bundle, s *stream) {
	m, p, c := memories.NewChanges(s.org), proposals.NewChanges(s.org), consents.NewChanges(s.org)
	belongs := belonging.NewChanges(s.org)
	for _, commit := range s.commits {
		for _, e := range commit.Events {
			require.NoError(t, m.Apply(e))
			require.NoError(t, p.Apply(e))
			require.NoError(t, c.Apply(e))
			require.NoError(t, belongs.Apply(e))
		}
	}
	records := rowsOf[memories.Record](t, b, "memory_records")
	require.Len(t, records, len(m.Records))
	for _, r := range records {
		require.Equal(t, *m.Records[r.MemoryID], r)
	}
	require.ElementsMatch(t, m.Revisions, rowsOf[memories.Revision](t, b, "memory_revisions"))
	claims := rowsOf[proposals.Row](t, b, "proposals")
	require.Len(t, claims, len(p.Rows))
	for _, r := range claims {
		require.Equal(t, *p.Rows[r.ProposalID], r)
	}
	require.ElementsMatch(t, c.Rows, rowsOf[consents.Row](t, b, "consents"))
	require.ElementsMatch(t, belongs.Rows, rowsOf[belonging.Row](t, b, "belongings"))
}

// rowsOf reads a whole table, but for the organisation.
func rowsOf[T any](t *rapid.T, b *bundle, table string) []T {
	_, err := b.super.Exec(t.Context(), "CREATE TEMP TABLE shown AS SELECT * FROM "+table)
	require.NoError(t, err)
	_, err = b.super.Exec(t.Context(), "ALTER TABLE shown DROP COLUMN organization_id")
	require.NoError(t, err)
	rows, err := b.super.Query(t.Context(), "SELECT * FROM shown", pgx.QueryExecModeDescribeExec)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	require.NoError(t, err)
	_, err = b.super.Exec(t.Context(), "DROP TABLE shown")
	require.NoError(t, err)
	return all
}
