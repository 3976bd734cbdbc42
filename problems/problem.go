package problems

import (
	"net/http"
	"time"
)

// Problem is the answer to an error. Codes are snake_case and never renamed; reasons that were given keep their hyphens (spec 9.6).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Errors []Item `json:"errors,omitempty"`

	// RetryAfter is when repeating may help; 0: it won't.
	RetryAfter time.Duration `json:"-"`
}

// Item is one of several things that are wrong: where, which rule, and our words for it. Of a missing consent, Detail is its key; of a
// missing permission, its name.
type Item struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

// TypeBase is what every type starts with; the code follows.
const TypeBase = "https://iris.example/problems/"

// Error is a refusal of a transport, which has no rule of its own behind it: a row of the table, and what is wrong where.
type Error struct {
	Code  string
	Items []Item
}

func (e *Error) Error() string {
	text := "refused " + e.Code
	for _, item := range e.Items {
		text += ": " + item.Pointer + " " + item.Detail
	}
	return text
}

// Refuse makes an Error.
func Refuse(code string, items ...Item) error { return &Error{code, items} }

// Temporary reports whether the same request may succeed later without any change: a message is to be delivered again, not
// refused.
func (p Problem) Temporary() bool {
	return p.RetryAfter > 0 && (p.Status >= 500 || p.Status == http.StatusTooManyRequests)
}
