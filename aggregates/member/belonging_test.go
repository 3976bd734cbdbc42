package member_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

// Whatever was said in whatever order, the book holds what was said last of each program and role.
func TestBelongingIsWhatWasSaidLast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.now = w.now.Plus(time.Hour)
		in, held, inspects := map[string]bool{"default": true}, map[string]bool{}, map[string]bool{}
		for range rapid.IntRange(0, 40).Draw(rt, "commands") {
			w.now = w.now.Plus(time.Duration(rapid.IntRange(0, 2000).Draw(rt, "hours")) * time.Hour)
			yes := rapid.Bool().Draw(rt, "yes")
			var command member.Command
			switch rapid.IntRange(0, 2).Draw(rt, "of") {
			case 0:
				program := rapid.SampledFrom([]string{"default", "atlas"}).Draw(rt, "program")
				command, in[program] = member.Leave{Program: program}, yes
				if yes {
					command = member.Join{Program: program}
				}
			case 1:
				command, held["reviewer"] = member.TakeRole{Role: "reviewer"}, yes
				if yes {
					command = member.GiveRole{Role: "reviewer"}
				}
			case 2:
				role := rapid.SampledFrom([]events.InspectionRole{events.InspectionLegal, events.InspectionSupport}).Draw(rt, "role")
				command, inspects[string(role)] = member.TakeInspectionRole{Role: role}, yes
				if yes {
					command = member.GiveInspectionRole{Role: role}
				}
			}
			_, err := w.run(command)
			require.NoError(rt, err)
			again, err := w.run(command)
			require.NoError(rt, err)
			require.Empty(rt, again, "what is so already yields nothing")
		}
		for program, is := range in {
			require.Equal(rt, is, w.state.In(program), program)
			_, left := w.state.Left[program]
			require.False(rt, is && left, "%s: in it and out of it", program)
		}
		requireHeld(rt, held, w.state.Roles)
		requireHeld(rt, inspects, w.state.InspectionRoles)
	})
}

func requireHeld(t require.TestingT, want map[string]bool, got map[string]events.Time) {
	for role, is := range want {
		_, holds := got[role]
		require.Equal(t, is, holds, role)
	}
}

// The candidates of a recall agree with the book at every instant around the one at which a program's memory is forgotten.
func TestLeftMemoryIsForgottenAtItsInstant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, a := range []act{{Do: "grant", Key: "data_processing"}, {Do: "grant", Key: "data_storage"}, {Do: "state", Name: "m"}, {Do: "leave", Program: "default"}} {
		_, err := w.perform(a)
		require.NoError(t, err)
	}
	entry, at := w.state.Entries[w.id("m")], w.state.Left["default"].ForgetAt
	before, after := at.Plus(-time.Microsecond), at
	require.True(t, entry.Kept(before))
	require.Nil(t, w.state.Candidates(before)[0].ForgetAt)
	require.False(t, entry.Kept(after))
	require.True(t, entry.Forgotten(after))
	require.Equal(t, &at, w.state.Candidates(after)[0].ForgetAt)
}
