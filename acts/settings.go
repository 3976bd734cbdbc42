package acts

import (
	"context"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
)

// Settings are what the member said once for everything that comes after (spec 10.9). Every program that the member is in is named.
type Settings struct {
	AutoKeep          map[string]bool `json:"autoKeep"`
	ImplicitPromotion bool            `json:"implicitPromotion"`
}

// SettingsChange is the body of a PUT. What is left out stays; of AutoKeep, a program that isn't named is off.
type SettingsChange struct {
	AutoKeep          *map[string]bool `json:"autoKeep,omitempty"`
	ImplicitPromotion *bool            `json:"implicitPromotion,omitempty"`
}

// Settings are the caller's own, as they stand now.
func (a *Acts) Settings(ctx context.Context, c Caller) (Settings, error) {
	var settings Settings
	err := a.ownBook(ctx, c, func(book *member.State) {
		settings = Settings{AutoKeep: map[string]bool{}, ImplicitPromotion: book.Settings.ImplicitPromotion}
		for program := range book.Programs {
			settings.AutoKeep[program] = book.Settings.AutoKeep[program]
		}
	})
	return settings, err
}

// ChangeSettings answers with the settings as they stand after it.
func (a *Acts) ChangeSettings(ctx context.Context, c Caller, r Request, in SettingsChange) (Settings, Done, error) {
	outcome, err := a.own(ctx, c, r, in, member.ChangeSettings(in))
	if err != nil {
		return Settings{}, Done{}, err
	}
	settings, err := a.Settings(ctx, c)
	return settings, Done{outcome.Position}, err
}

// OptOuts are what the caller has switched off (spec 1.8).
func (a *Acts) OptOuts(ctx context.Context, c Caller) ([]events.OptOut, error) {
	all := []events.OptOut{}
	err := a.ownBook(ctx, c, func(book *member.State) { all = append(all, book.OptOuts...) })
	return all, err
}

// SetOptOuts replaces the list, and answers with it as it stands.
func (a *Acts) SetOptOuts(ctx context.Context, c Caller, r Request, in []events.OptOut) ([]events.OptOut, Done, error) {
	outcome, err := a.own(ctx, c, r, in, member.OptOut{OptOuts: in})
	if err != nil {
		return nil, Done{}, err
	}
	all, err := a.OptOuts(ctx, c)
	return all, Done{outcome.Position}, err
}

// Declined is a fact that is not proposed again (spec 1.8). Its id is that of the entry that it came from. Category is null where
// the entry is destroyed; ProposedBy is empty for what the member said.
type Declined struct {
	ID         events.ID         `json:"id"`
	At         events.Time       `json:"at"`
	How        member.How        `json:"how"`
	ProposedBy string            `json:"proposedBy"`
	Program    string            `json:"program"`
	Kind       events.MemoryKind `json:"kind"`
	Category   *events.Category  `json:"category"`
}

// Declined lists the caller's register, newest first, as it stands now: the book has it, no read model does.
func (a *Acts) Declined(ctx context.Context, c Caller, page reader.Page) (Page[Declined], error) {
	var facts []member.DeclinedFact
	if err := a.ownBook(ctx, c, func(book *member.State) { facts = book.DeclinedFacts() }); err != nil {
		return Page[Declined]{}, err
	}
	facts, next := reader.Of(page, facts, func(f member.DeclinedFact) reader.Key { return reader.Key{Position: f.Position, ID: f.MemoryID} })
	result := Page[Declined]{Items: []Declined{}, Next: next}
	for _, f := range facts {
		item := Declined{ID: f.MemoryID, At: f.At, How: f.How, ProposedBy: or(f.ProposedBy.Producer, f.ProposedBy.Client), Program: f.Program, Kind: f.Kind}
		if f.Category != "" {
			item.Category = &f.Category
		}
		result.Items = append(result.Items, item)
	}
	return result, nil
}

// LiftDeclined lets a fact be proposed again.
func (a *Acts) LiftDeclined(ctx context.Context, c Caller, r Request, id events.ID) (Done, error) {
	outcome, err := a.own(ctx, c, r, struct{}{}, member.LiftDeclined{MemoryID: id})
	return Done{outcome.Position}, unknown(err, "declined_unknown")
}

// ownBook shows the caller's own book as it stands at its head. look must not keep it.
func (a *Acts) ownBook(ctx context.Context, c Caller, look func(*member.State)) error {
	if _, err := c.asMember(); err != nil {
		return err
	}
	return a.Members.Look(ctx, c.Organisation, events.Member(c.Member), func(book *member.State, _ uint64) error {
		look(book)
		return nil
	})
}
