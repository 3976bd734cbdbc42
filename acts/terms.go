package acts

import (
	"context"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"iris.example/iris/aggregates/organisation"
)

// Publication is the body of POST /v1/admin/terms (spec 10.9).
type Publication struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Locale  string `json:"locale"`
	Text    string `json:"text"`
}

// Published are terms that stand. Changed is false where the same text stood under the same version already.
type Published struct {
	Done
	Terms
	Changed bool
}

// PublishTerms adds a version of a text. A version that was published is never edited (spec 2.1): its fingerprints stand in the
// ledgers of those who agreed.
func (a *Acts) PublishTerms(ctx context.Context, c Caller, r Request, in Publication) (Published, error) {
	actor, err := c.administers()
	if err != nil {
		return Published{}, fmt.Errorf("publish terms: %w", err)
	}
	normal := in
	normal.Text = norm.NFC.String(in.Text)
	outcome, err := a.administer(ctx, c, r, actor, organisation.PublishTerms(normal), in)
	if err != nil {
		return Published{}, err
	}
	published := Published{Done: Done{outcome.Position}, Changed: len(outcome.Events) > 0}
	defined, err := a.definitions(ctx, c.Organisation)
	if err != nil {
		return Published{}, err
	}
	t := defined.Terms[termsKey(in.ID, in.Version)]
	published.Terms = Terms{t.ID, t.Version, t.Locale, t.SHA256, t.Text}
	return published, nil
}
