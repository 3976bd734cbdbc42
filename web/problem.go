package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/problems"
)

// problem is a refusal as a page says it: what happened, why, what next.
type problem struct {
	Status  int
	Code    string
	What    string
	Why     string
	Next    string
	Field   string // id of the field to correct; empty: none
	Missing []events.ConsentKey
	// SameKey: the same command may be sent again, so the form keeps the key that it had.
	SameKey    bool
	RetryAfter time.Duration
}

// problem puts an error into words, and logs it when it is ours.
func (v *visit) problem(err error) *problem {
	p := describe(err)
	if p.RetryAfter > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(p.RetryAfter.Seconds())))
	}
	if p.Status >= http.StatusInternalServerError {
		v.site.cfg.Logger.Error("page failed", "route", v.route.Method+" "+v.route.Pattern, "code", p.Code, "error", err)
	}
	return p
}

// describe takes status and code from the table that every caller's errors come from. That table speaks to programs; where a
// member can do something about it, words says it again.
func describe(err error) *problem {
	told := problems.Of(err)
	p := &problem{
		Status: told.Status, Code: told.Code, What: "Nothing was changed.", Why: told.Title + ". " + told.Detail,
		Next: "Look at the page as it is now.", SameKey: told.Temporary(), RetryAfter: told.RetryAfter,
	}
	if refusal, ok := aggregates.AsRefusal(err); ok {
		p.Missing = refusal.Missing
	}
	var token *identity.Error
	if errors.As(err, &token) {
		p.Why = tokenWords(token.Code)
		if errors.Is(err, identity.ErrKeysUnavailable) {
			p.Status, p.Why = http.StatusServiceUnavailable, "Who you are can’t be checked at the moment."
		}
	}
	words(p)
	return p
}

func words(p *problem) {
	switch p.Code {
	case "unauthenticated":
		p.What, p.Next = "You are not signed in.", "Paste a token that is valid now."
		if p.Status == http.StatusServiceUnavailable {
			p.Next = "Try again in a moment."
		}
	case "not_found":
		p.Why, p.Next = "It is not here, or it is not yours.", "Look at the list as it is now."
	case "member_required":
		p.What, p.Why = "There is nothing to show.", "What you signed in with is no member’s own sign-in."
		p.Next = "Sign out, and sign in as a member."
	case "consent_required":
		p.Why, p.Next = "It takes consents that you have not given.", "Tick those that you want to give, and send it again."
		p.Field = "consents"
	case "body_empty":
		p.Why, p.Next, p.Field = "There are no words to remember.", "Write what should be remembered.", "body"
	case "body_too_long":
		p.Why, p.Next, p.Field = "A text is too long: 4,000 characters at most, 120 for what it is about.", "Make it shorter.", "body"
	case "invalid_text":
		p.Why, p.Next, p.Field = "The words hold characters that can’t be kept.", "Type them again without those.", "body"
	case "injection_suspected":
		p.Why, p.Field = "The words read like markup, or like instructions to an assistant.", "body"
		p.Next = "Write them as a plain statement about you."
	case "category_unknown":
		p.Why, p.Next, p.Field = "It is not said what it is about.", "Choose a category.", "category"
	case "not_in_program", "program_unknown":
		p.Why, p.Next, p.Field = "You are not in that program.", "Choose a program that you are in.", "program"
	case "terms_unknown":
		p.Why, p.Next = "The text that you would agree to is not there any more.", "Read it as it is now, and answer again."
	case "proposal_answered":
		p.Why = "You have answered this proposal already."
	case "proposal_lapsed":
		p.Why, p.Next = "The proposal has lapsed.", "Add it in your own words, if you want it remembered."
	case "consent_not_granted":
		p.Why = "This consent is not granted any more."
	case "invalid_lifecycle_transition":
		p.Why = "Something newer has taken its place, or it is forgotten already."
		p.Next = "Look at the list as it is now. What is being forgotten can be restored there."
	case "scrub_findings":
		p.Why, p.Next = "The words hold something that must stay where it is.", "Edit the words, and try again."
	case "role_not_held":
		p.Why, p.Next = "You don’t hold that role now.", "Ask your organisation, if you should."
	case "curation_needs_another_person":
		p.Why, p.Next = "It takes another person: nobody offers, accepts and confirms the same text.", "Leave it to somebody else."
	case "candidate_moved":
		p.Why = "Somebody else has answered it meanwhile, or it was taken back."
	case "contributors_missing":
		p.Why, p.Next = "Too few members stand behind it.", "Wait until others offer it, too."
	case "not_shareable":
		p.Why, p.Next = "What is sensitive, or about someone else, is never shared with a role.", "Leave it as it is."
	case "kind_not_promotable":
		p.Why, p.Next = "What happened, and lessons, stay in their program.", "Add it in your own words in the other program, if you want it there."
	case "revision_conflict":
		p.Why, p.Next = "It was changed since you opened it.", "Compare both, and save yours again if you still want it."
	case "query_without_words":
		p.What, p.Why, p.Next, p.Field = "Nothing was searched.", "There is no word to look for.", "Search for whole words.", "q"
	case "idempotency_key_reused":
		p.Why = "The same form was sent before, with something else in it."
		p.Next = "Look at what was done then. Send this again if you still want it."
	case "outcome_unknown":
		p.What, p.Why = "It isn’t known yet whether your change was recorded.", "The store didn’t answer in time."
		p.Next = "Send the form again as it is: it does one thing, however often you send it."
	case "rate_limited":
		p.What, p.Why, p.Next = "Nothing was done.", "You have asked more often than one may.", "Wait a moment, and send it again as it is."
	case "store_unavailable", "consent_state_unavailable":
		p.Why, p.Next = "The store can’t be reached now.", "Send the form again in a moment."
	case "record_damaged":
		p.What, p.Why = "This can’t be done now.", "What is on record of you is damaged, so nothing is done or said by it."
		p.Next = "Tell your organisation: whoever runs Iris has to look at it."
	case "internal":
		p.What, p.Why, p.Next = "This can’t be done now.", "Something went wrong on our side.", "Try again in a moment."
	}
}

func tokenWords(code identity.Code) string {
	switch code {
	case identity.TokenMissing:
		return "There is no token."
	case identity.TokenExpired:
		return "The token has expired."
	case identity.TokenNotYetValid:
		return "The token is not valid yet."
	case identity.TokenMalformed:
		return "This is no token, or not all of it."
	}
	return "The token is not one that is accepted here."
}
