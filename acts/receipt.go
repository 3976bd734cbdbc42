package acts

import (
	"context"

	"iris.example/iris/events"
	"iris.example/iris/projections/consents"
	"iris.example/iris/projections/reader"
	"iris.example/iris/receipts"
)

// Receipt is the receipt of one event of the caller's ledger, the same each time it is asked for (spec 2.1).
func (a *Acts) Receipt(ctx context.Context, c Caller, event events.ID) (receipts.Receipt, error) {
	if _, err := c.asMember(); err != nil {
		return receipts.Receipt{}, err
	}
	var row consents.Row
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		row, err = consents.Get(ctx, s, c.Member, event)
		return err
	})
	if err != nil {
		return receipts.Receipt{}, notFound(err)
	}
	record, err := events.Open[events.ConsentRecord](ctx, a.Keys, row.Record)
	if err != nil {
		return receipts.Receipt{}, err
	}
	return a.receipt(c, receipts.Event{ID: row.EventID, State: row.State, Supersedes: supersedes(row), Record: record, Position: row.Position}), nil
}

// receipt completes an event with what it names: the member, and the text, which is never edited.
func (a *Acts) receipt(c Caller, e receipts.Event) receipts.Receipt {
	e.Organisation, e.Member = c.Organisation, c.Member
	terms := c.Defined.Terms[termsKey(e.Record.TermsID, e.Record.TermsVersion)]
	e.TermsSHA256, e.TermsLocale = terms.SHA256, terms.Locale
	return receipts.Write(e, a.Controller)
}
