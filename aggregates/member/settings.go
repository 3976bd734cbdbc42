package member

import (
	"cmp"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
)

// Settings are what the member said once for everything that comes after (spec 1.5).
type Settings struct {
	AutoKeep          map[string]bool // programs in which claims are kept without asking; off by default (given)
	ImplicitPromotion bool            // whether a recurring fact of a session may be proposed at its close
}

type (
	// ChangeSettings sets what it names. Of AutoKeep, when it is there, a program that isn't named is off.
	ChangeSettings struct {
		AutoKeep          *map[string]bool
		ImplicitPromotion *bool
	}
	// OptOut sets the whole list of opt-outs.
	OptOut struct{ OptOuts []events.OptOut }
	// LiftDeclined lets a declined fact be proposed again.
	LiftDeclined struct{ MemoryID events.ID }
)

func (ChangeSettings) KeysNeeded() int { return 0 }
func (OptOut) KeysNeeded() int         { return 0 }
func (LiftDeclined) KeysNeeded() int   { return 0 }

func changeSettings(s *State, c ChangeSettings, env aggregates.Env) ([]events.Event, error) {
	event := &events.SettingsChanged{AutoKeep: s.autoKept(), ImplicitPromotion: s.Settings.ImplicitPromotion}
	if c.AutoKeep != nil {
		event.AutoKeep = []string{}
		for program, on := range *c.AutoKeep {
			if !env.Defined.HasProgram(program) {
				return nil, aggregates.Refuse("program_unknown", "spec 1.1")
			}
			if _, in := s.Programs[program]; on && !in {
				return nil, aggregates.Refuse("not_in_program", "spec 1.5")
			}
			if on {
				event.AutoKeep = append(event.AutoKeep, program)
			}
		}
		slices.Sort(event.AutoKeep)
	}
	if c.ImplicitPromotion != nil {
		event.ImplicitPromotion = *c.ImplicitPromotion
	}
	if event.ImplicitPromotion == s.Settings.ImplicitPromotion && slices.Equal(event.AutoKeep, s.autoKept()) {
		return nil, nil
	}
	return []events.Event{event}, nil
}

// autoKept are the programs that are on, in order.
func (s *State) autoKept() []string {
	programs := []string{}
	for program, on := range s.Settings.AutoKeep {
		if on {
			programs = append(programs, program)
		}
	}
	slices.Sort(programs)
	return programs
}

func (s *State) set(e *events.SettingsChanged) {
	s.Settings = Settings{AutoKeep: map[string]bool{}, ImplicitPromotion: e.ImplicitPromotion}
	for _, program := range e.AutoKeep {
		s.Settings.AutoKeep[program] = true
	}
}

// optOut takes the whole list: what it doesn't name is open again. A name that means nothing is refused, because an opt-out that
// switches nothing off would be a promise that nobody keeps; one that stands already stays, whatever became of what it names.
func optOut(s *State, c OptOut, env aggregates.Env) ([]events.Event, error) {
	wanted := slices.Clone(c.OptOuts)
	slices.SortFunc(wanted, func(a, b events.OptOut) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key)) })
	wanted = slices.Compact(wanted)
	for _, o := range wanted {
		if !slices.Contains(s.OptOuts, o) && !means(o, env) {
			return nil, aggregates.Refuse("opt_out_unknown", "spec 1.8")
		}
	}
	if slices.Equal(wanted, s.OptOuts) {
		return nil, nil
	}
	if wanted == nil {
		wanted = []events.OptOut{}
	}
	return []events.Event{&events.OptOutsChanged{OptOuts: events.Hide(wanted)}}, nil
}

// means reports whether there is what the opt-out names. A category counts where some scope lets a member switch it off.
func means(o events.OptOut, env aggregates.Env) bool {
	switch o.Kind {
	case events.OptOutCategory:
		category := events.Category(o.Key)
		for _, row := range env.Policy.Scopes {
			if category.Valid() && row.MayOptOut(category) {
				return true
			}
		}
	case events.OptOutProducer:
		return env.Defined.HasClaimant(o.Key)
	case events.OptOutProgram:
		return env.Defined.HasProgram(o.Key)
	}
	return false
}

// mayWrite is asked by every writer: the member has switched off neither the program nor the category, in a scope whose row allows
// that, nor whoever claimed (spec 1.8). Own words have no claimant.
func (s *State) mayWrite(program string, labels events.Labels, by events.ProposedBy, env aggregates.Env) error {
	for _, o := range s.OptOuts {
		switch {
		case o.Kind == events.OptOutProgram && o.Key == program,
			o.Kind == events.OptOutProducer && (o.Key == by.Producer || o.Key == by.Client):
			return aggregates.Refuse("opted_out", "spec 1.8")
		case o.Kind == events.OptOutCategory && o.Key == string(labels.Category):
			row, ok := env.Policy.ScopeOf(labels.Scope.Kind, labels.AdapterScope)
			if ok && row.MayOptOut(labels.Category) {
				return &aggregates.Refusal{Code: "opted_out", Rule: "spec 1.8, 2.2", Missing: []events.ConsentKey{events.ConsentKey(o.Key)}}
			}
		}
	}
	return nil
}
