package web

import (
	"net/http"
	"net/url"
	"strings"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
)

// maxForm holds a body of 4,000 code points, percent-encoded, many times over.
const maxForm = 256 << 10

// form reads what was posted. Browsers send line breaks as CR LF; what is remembered has LF.
func (v *visit) form() (url.Values, *problem) {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		return nil, unreadable()
	}
	form := v.r.PostForm
	for name, values := range form {
		for i, value := range values {
			text, err := boundary.Text(name, value)
			if err != nil {
				return nil, unreadable()
			}
			values[i] = strings.ReplaceAll(text, "\r\n", "\n")
		}
	}
	return form, nil
}

func unreadable() *problem {
	return &problem{Status: http.StatusBadRequest, Code: "form_malformed", What: "Nothing was done.",
		Why: "The form can't be read, or it is too long.", Next: "Go back and send it again."}
}

// command reads a form that asks for an act: its Idempotency-Key makes a double submit do one thing.
func (v *visit) command() (url.Values, acts.Request, *problem) {
	form, p := v.form()
	if p != nil {
		return nil, acts.Request{}, p
	}
	key := form.Get("key")
	if boundary.UUID("key", key) != nil {
		return nil, acts.Request{}, &problem{Status: http.StatusBadRequest, Code: "form_malformed", What: "Nothing was done.",
			Why: "The form didn't come from one of our pages.", Next: "Open the page and try again."}
	}
	return form, acts.Request{Route: "POST " + v.r.URL.Path, Key: key, Received: events.At(v.site.cfg.Now())}, nil
}

// unpressed answers a form that came without its button: Enter was pressed in a field, which is no answer.
func unpressed(why string) *problem {
	return &problem{Status: http.StatusUnprocessableEntity, Code: "answer_missing", What: "Nothing was changed.", Why: why,
		Next: "Press the button that you mean."}
}

// id is the path's. A malformed one names nothing.
func (v *visit) id() (events.ID, bool) {
	id := v.r.PathValue("id")
	return events.ID(id), boundary.UUID("id", id) == nil
}

// freshKey names one submission of one form.
func freshKey() (string, error) {
	id, err := events.RandomID()
	return string(id), err
}

// option is an entry of a select.
type option struct {
	Value, Text string
	Selected    bool
}
