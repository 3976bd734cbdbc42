package projections_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/projections"
	"iris.example/iris/projections/consents"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/proposals"
	"iris.example/iris/projections/reader"
	"iris.example/iris/projections/recalls"
)

func memoryIDs(rows []memories.Record) []events.ID {
	ids := []events.ID{}
	for _, r := range rows {
		ids = append(ids, r.MemoryID)
	}
	return ids
}

func TestAMemoryReadsAsItsRevisionsLeftIt(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	member, other := s.id(), s.id()
	p := s.proposed("first words")
	s.commit(member, p)
	kept := s.kept(p.Entry, "")
	s.commit(member, kept)
	forgotten := s.forgotten(p.Entry, kept.RevisionID)
	s.commit(member, forgotten)
	b.project(s)

	b.read("acme", func(ctx context.Context, session *reader.Session) {
		r, err := memories.Get(ctx, session, member, p.MemoryID)
		require.NoError(t, err)
		require.Equal(t, "org/acme/program/atlas/user/"+string(member), r.Namespace)
		require.Equal(t, events.LifecyclePaused, r.Lifecycle)
		require.Equal(t, events.OriginUserConfirmed, r.Origin)
		require.Equal(t, events.CategoryGoal, *r.Category, "the answer changed it")
		require.Equal(t, "profile:"+string(member), *r.ScopeKey)
		require.Equal(t, events.AdapterAssistantProfile, *r.AdapterScope)
		require.Equal(t, 3, r.Revision)
		require.Equal(t, forgotten.RevisionID, r.RevisionID)
		require.Equal(t, kept.RevisionID, *r.PreviousRevisionID)
		require.Equal(t, forgotten.ForgetAt.Time, *r.ForgetAt)
		require.Equal(t, s.commits[0].Events[0].RecordedAt.Time, r.CreatedAt)
		require.Equal(t, s.commits[2].Events[0].RecordedAt.Time, r.UpdatedAt)
		require.EqualValues(t, 3, r.Position)

		body, err := events.Open[string](ctx, s.keys, r.Body)
		require.NoError(t, err)
		require.Equal(t, "first words", body, "kept as proposed: the text is still the first revision's")
		opened, err := events.Open[events.Labels](ctx, s.keys, r.Labels)
		require.NoError(t, err)
		require.Equal(t, "secret-subject", opened.Subject)

		chain, err := memories.History(ctx, session, member, p.MemoryID, reader.Page{})
		require.NoError(t, err)
		require.Nil(t, chain.Next)
		require.Nil(t, chain.Before)
		history := slices.Clone(chain.Revisions)
		slices.Reverse(history)
		require.Len(t, history, 3)
		for i, revision := range history {
			e := s.commits[i].Events[0]
			require.Equal(t, i+1, revision.Revision)
			require.Equal(t, e.ID, revision.EventID)
			require.Equal(t, e.Type, revision.EventType)
			require.Equal(t, events.ActorMember, revision.ActorKind)
			require.Equal(t, e.RecordedAt.Time, revision.At)
		}
		require.NotNil(t, history[0].Body)
		require.Nil(t, history[1].Body, "this revision kept the text before it")
		require.NotNil(t, history[1].Labels)
		require.Nil(t, history[2].Labels)
		require.Nil(t, history[0].PreviousRevisionID)
		require.Equal(t, p.RevisionID, *history[1].PreviousRevisionID)

		_, err = memories.Get(ctx, session, other, p.MemoryID)
		require.ErrorIs(t, err, reader.ErrNotFound, "another member's")
		_, err = memories.History(ctx, session, other, p.MemoryID, reader.Page{})
		require.ErrorIs(t, err, reader.ErrNotFound)
	})
}

func TestMemoriesAreListedByFilterAndPage(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	member := s.id()
	active, second, gone, lost, person := s.stated("a"), s.stated("b"), s.stated("c"), s.stated("d"), s.stated("e")
	second.Program, second.Labels = "borea", labels(events.CategoryMedical, profile)
	person.Tier, person.Program = events.TierPerson, ""
	draft, declined := s.proposed("f"), s.proposed("g")
	s.commit(member, active)
	s.commit(member, second, gone)
	s.commit(member, lost)
	s.commit(member, draft)
	s.commit(member, declined)
	s.commit(member, person)
	s.commit(s.id(), s.stated("another member's"))
	s.commit(member, s.forgotten(gone.Entry, gone.RevisionID))
	s.commit(member, s.superseded(lost.Entry, lost.RevisionID, active.MemoryID))
	s.commit(member, s.declined(declined.Entry))
	promoted := s.stated("p")
	s.commit(member, promoted)
	promotion := s.promoted(promoted.Entry, promoted.RevisionID)
	promotion.Program = "borea"
	s.commit(member, promotion)
	ahead := s.proposed("h")
	s.commit(member, ahead, s.autoKept(ahead.Entry))
	b.project(s)

	for name, test := range map[string]struct {
		filter memories.Filter
		want   []events.ID
	}{
		"as a member sees it": {memories.Filter{}, []events.ID{ahead.MemoryID, promotion.MemoryID, lost.MemoryID, person.MemoryID, second.MemoryID, active.MemoryID}},
		"tier":                {memories.Filter{Tier: events.TierPerson}, []events.ID{promotion.MemoryID, person.MemoryID}},
		"program":             {memories.Filter{Program: "borea"}, []events.ID{promotion.MemoryID, second.MemoryID}},
		"category":            {memories.Filter{Category: events.CategoryMedical}, []events.ID{second.MemoryID}},
		"superseded":          {memories.Filter{Lifecycle: events.LifecycleSuperseded}, []events.ID{promoted.MemoryID, lost.MemoryID}},
		"kept ahead":          {memories.Filter{AutoKept: true}, []events.ID{ahead.MemoryID}},
		"drafts":              {memories.Filter{Lifecycle: events.LifecycleDraft}, []events.ID{draft.MemoryID}},
		"tombstones":          {memories.Filter{Lifecycle: events.LifecycleTombstoned}, []events.ID{declined.MemoryID}},
		"forgotten":           {memories.Filter{Forgotten: true}, []events.ID{gone.MemoryID}},
		"paused, unforgotten": {memories.Filter{Lifecycle: events.LifecyclePaused}, []events.ID{}},
	} {
		b.read("acme", func(ctx context.Context, session *reader.Session) {
			rows, next, err := memories.List(ctx, session, member, test.filter, reader.Page{})
			require.NoError(t, err, name)
			require.Nil(t, next, name)
			require.Equal(t, test.want, memoryIDs(rows), name)
		})
	}

	b.read("acme", func(ctx context.Context, session *reader.Session) {
		var seen []events.ID
		page := reader.Page{Limit: 3}
		for {
			rows, next, err := memories.List(ctx, session, member, memories.Filter{}, page)
			require.NoError(t, err)
			require.LessOrEqual(t, len(rows), 3)
			seen = append(seen, memoryIDs(rows)...)
			if page.Before = next; next == nil {
				break
			}
		}
		require.Equal(t, []events.ID{ahead.MemoryID, promotion.MemoryID, lost.MemoryID, person.MemoryID, second.MemoryID, active.MemoryID}, seen)
	})
}

func TestProposalsAreFoundByStateInstantAndCommand(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	member := s.id()
	open, taken, turned, lost, auto := s.proposed("open"), s.proposed("taken"), s.proposed("turned"), s.proposed("lost"), s.proposed("auto")
	claim := s.commit(member, open)
	s.commit(member, taken)
	s.commit(member, turned)
	s.commit(member, lost)
	s.commit(member, auto, s.autoKept(auto.Entry))
	rejected := s.refused(s.id(), events.OutcomeRejected, "injection_suspected")
	s.commit(member, rejected)
	s.commit(member, s.kept(taken.Entry, "edited"))
	s.commit(member, s.declined(turned.Entry))
	s.commit(member, s.refused(lost.MemoryID, events.OutcomeKeptExisting, "most-recent-wins"))
	b.project(s)

	b.read("acme", func(ctx context.Context, session *reader.Session) {
		for _, test := range []struct {
			proposal events.ID
			state    proposals.State
			outcome  events.ClaimOutcome
			reason   string
			answered bool
		}{
			{open.MemoryID, proposals.Pending, events.OutcomePending, "", false},
			{taken.MemoryID, proposals.Accepted, events.OutcomePending, "", true},
			{turned.MemoryID, proposals.Declined, events.OutcomePending, "", true},
			{lost.MemoryID, proposals.Refused, events.OutcomeKeptExisting, "most-recent-wins", true},
			{auto.MemoryID, proposals.Accepted, events.OutcomeKept, "", true},
			{rejected.ProposalID, proposals.Refused, events.OutcomeRejected, "injection_suspected", false},
		} {
			r, err := proposals.Get(ctx, session, test.proposal)
			require.NoError(t, err)
			require.Equal(t, test.state, r.State)
			require.Equal(t, test.outcome, r.Outcome)
			require.Equal(t, test.reason, r.Reason)
			require.Equal(t, test.answered, r.AnsweredAt != nil)
			require.Equal(t, "notes", r.Producer)
			require.Equal(t, events.ConsumerAssistant, r.Consumer)
		}
		r, err := proposals.Get(ctx, session, rejected.ProposalID)
		require.NoError(t, err)
		require.Nil(t, r.Body)
		notes, err := events.Open[events.RefusalNotes](ctx, s.keys, r.Notes)
		require.NoError(t, err)
		require.Equal(t, events.CategoryMedical, notes.Category)

		r, err = proposals.ByCommand(ctx, session, claim)
		require.NoError(t, err)
		require.Equal(t, open.MemoryID, r.ProposalID)
		require.Equal(t, "session:"+string(member)+"/s-81", *r.ScopeKey)
		_, err = proposals.ByCommand(ctx, session, s.id())
		require.ErrorIs(t, err, reader.ErrNotFound)

		for instant, want := range map[events.Time]int{open.ExpiresAt.Plus(-1000): 1, open.ExpiresAt: 0, start: 1} {
			rows, _, err := proposals.ListPending(ctx, session, member, instant, proposals.Filter{}, reader.Page{})
			require.NoError(t, err)
			require.Len(t, rows, want, instant.String())
		}
		rows, next, err := proposals.List(ctx, session, member, proposals.Refused, reader.Page{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, rejected.ProposalID, rows[0].ProposalID)
		rows, next, err = proposals.List(ctx, session, member, proposals.Refused, reader.Page{Limit: 1, Before: next})
		require.NoError(t, err)
		require.Equal(t, lost.MemoryID, rows[0].ProposalID)
		require.Nil(t, next)

		drafts, _, err := memories.List(ctx, session, member, memories.Filter{Lifecycle: events.LifecycleDraft}, reader.Page{})
		require.NoError(t, err)
		require.Equal(t, []events.ID{open.MemoryID}, memoryIDs(drafts), "every answer ended its draft")
	})
}

func TestAConsentStandsAtItsNewestEvent(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	member := s.id()
	expires := s.clock.Plus(3600e9)
	s.commit(member, &events.ConsentGranted{Consent: s.consent("medical", nil, "")}, &events.ConsentGranted{Consent: s.consent("data_storage", &expires, "")})
	grant := s.commits[0].Events[0].ID
	s.commit(member, &events.ConsentDenied{Consent: s.consent("cross_domain", nil, "")})
	// Both of one key in one commit: only their order there tells which is newer.
	s.commit(member, &events.ConsentWithdrawn{Consent: s.consent("medical", nil, grant)}, &events.ConsentGranted{Consent: s.consent("medical", nil, "")})
	s.commit(s.id(), &events.ConsentDenied{Consent: s.consent("medical", nil, "")})
	b.project(s)

	b.read("acme", func(ctx context.Context, session *reader.Session) {
		rows, err := consents.Current(ctx, session, member)
		require.NoError(t, err)
		states := map[events.ConsentKey]events.ConsentState{}
		for _, r := range rows {
			states[r.Key] = r.StateAt(start)
		}
		require.Equal(t, map[events.ConsentKey]events.ConsentState{
			"medical": events.StateGranted, "data_storage": events.StateGranted, "cross_domain": events.StateDenied,
		}, states)
		for _, r := range rows {
			if r.Key == "data_storage" {
				require.Equal(t, events.StateExpired, r.StateAt(expires))
			}
		}
		withdrawal := s.commits[2].Events[0].ID
		r, err := consents.Get(ctx, session, member, withdrawal)
		require.NoError(t, err)
		require.Equal(t, events.StateWithdrawn, r.State)
		require.Equal(t, grant, *r.Supersedes)
		record, err := events.Open[events.ConsentRecord](ctx, s.keys, r.Record)
		require.NoError(t, err)
		require.Equal(t, "secret-words", record.Shown)
		_, err = consents.Get(ctx, session, s.id(), withdrawal)
		require.ErrorIs(t, err, reader.ErrNotFound)
	})
}

func TestRecallsAreFoundAndListed(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	member := s.id()
	first, second, empty := s.resolved(member, s.id(), s.id()), s.resolved(member, s.id()), s.resolved(member)
	for _, r := range []*events.RecallResolved{first, second, first, empty, s.resolved(s.id())} {
		again := *r // the first is appended twice, as a retry does
		s.recall(&again)
	}
	b.project(s, overAccess(s))

	b.read("acme", func(ctx context.Context, session *reader.Session) {
		r, err := recalls.Get(ctx, session, member, first.RecallID)
		require.NoError(t, err)
		require.Equal(t, first.ReturnedIDs, r.ReturnedIDs)
		require.EqualValues(t, 1, r.Position, "where it was appended first")
		require.Equal(t, "assist", r.Purpose)
		require.Equal(t, "assistant", r.Surface)
		require.Equal(t, 3, r.EvaluatedCount)
		require.Equal(t, first.ResultSHA256, r.ResultSHA256)
		_, err = recalls.Get(ctx, session, s.id(), first.RecallID)
		require.ErrorIs(t, err, reader.ErrNotFound)
		_, err = recalls.Find(ctx, session, first.RecallID)
		require.NoError(t, err)

		rows, next, err := recalls.List(ctx, session, member, reader.Page{Limit: 2})
		require.NoError(t, err)
		require.Equal(t, empty.RecallID, rows[0].RecallID)
		require.Empty(t, rows[0].ReturnedIDs)
		require.Equal(t, second.RecallID, rows[1].RecallID)
		rows, next, err = recalls.List(ctx, session, member, reader.Page{Limit: 2, Before: next})
		require.NoError(t, err)
		require.Len(t, rows, 1)
		require.Nil(t, next)
	})
}

func TestErasureTakesTextAndLabelsFromEveryStore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	projector := b.connect(migrations.Projector)
	var s *stream
	var member events.ID
	var erased, spared events.Entry
	for _, org := range []string{"acme", "umbra"} { // with the same ids: an erasure in one must not reach the other
		s = newStream(org)
		member = s.id()
		p, other := s.proposed("to be erased"), s.stated("to be spared")
		s.commit(member, p)
		s.commit(member, s.kept(p.Entry, "to be erased, edited"), other)
		erased, spared = p.Entry, other.Entry
		b.project(s)
	}
	for range 2 { // it can be repeated
		require.NoError(t, projections.Erase(t.Context(), projector, "umbra", projections.Erasure{Member: member, Memories: []events.ID{erased.MemoryID}}))
	}

	for org, gone := range map[string]bool{"acme": false, "umbra": true} {
		b.read(org, func(ctx context.Context, session *reader.Session) {
			r, err := memories.Get(ctx, session, member, erased.MemoryID)
			require.NoError(t, err)
			require.Equal(t, []bool{gone, gone, gone, gone, gone, gone},
				[]bool{r.Body == nil, r.Labels == nil, r.Details == nil, r.Category == nil, r.ScopeKey == nil, r.AdapterScope == nil})
			chain, err := memories.History(ctx, session, member, erased.MemoryID, reader.Page{})
			require.NoError(t, err)
			require.Len(t, chain.Revisions, 2)
			require.Equal(t, gone, chain.Erased())
			for _, revision := range chain.Revisions {
				require.Equal(t, []bool{gone, gone, gone}, []bool{revision.Body == nil, revision.Labels == nil, revision.Details == nil})
			}
			claim, err := proposals.Get(ctx, session, erased.MemoryID)
			require.NoError(t, err)
			require.Equal(t, []bool{gone, gone, gone, gone, gone},
				[]bool{claim.Body == nil, claim.Labels == nil, claim.Details == nil, claim.Category == nil, claim.ScopeKey == nil})
			other, err := memories.Get(ctx, session, member, spared.MemoryID)
			require.NoError(t, err)
			require.NotNil(t, other.Body)
			require.NotNil(t, other.Category)
		})
	}

	// A later revision doesn't bring the text back.
	kept := s.commits[1].Events[0].Event.(*events.MemoryKept)
	s.commit(member, s.superseded(erased, kept.RevisionID, spared.MemoryID))
	b.project(s)
	b.read("umbra", func(ctx context.Context, session *reader.Session) {
		r, err := memories.Get(ctx, session, member, erased.MemoryID)
		require.NoError(t, err)
		require.Equal(t, events.LifecycleSuperseded, r.Lifecycle)
		require.Nil(t, r.Body)
		require.Nil(t, r.Category)
	})
}
