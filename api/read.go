package api

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/problems"
)

// readBody takes the body of a call and judges it: form first, then schema. A call that has nothing to say may leave it out.
func (a *API) readBody(route Route, r *http.Request) ([]byte, error) {
	body, err := boundary.Read(r.Body, maxBody)
	switch {
	case err != nil && !errors.Is(err, boundary.ErrRefused):
		return nil, problems.Refuse("body_unreadable")
	case err != nil:
		return nil, err
	case route.Request == "" && len(body) > 0:
		return nil, problems.Refuse("body_not_expected")
	case route.Request == "":
		return nil, nil
	case len(body) == 0:
		body = []byte("{}")
	default:
		if err := isJSON(r.Header); err != nil {
			return nil, err
		}
	}
	if err := boundary.Check(body); err != nil {
		return nil, err
	}
	if err := a.cfg.Contract.CheckRequest(route.Request, body); err != nil {
		return nil, err
	}
	return body, nil
}

// isJSON accepts application/json and application/*+json, in UTF-8 and not compressed: what is judged is what was sent.
func isJSON(header http.Header) error {
	refused := problems.Refuse("unsupported_media_type")
	types := header.Values("Content-Type")
	if len(types) != 1 || header.Get("Content-Encoding") != "" {
		return refused
	}
	media, parameters, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" && !(strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")) {
		return refused
	}
	if charset, given := parameters["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return refused
	}
	return nil
}

const maxIdempotencyKey = 128

// idempotencyKey is the caller's, or a fresh one, which the answer names so that the call can be repeated (spec 9.6).
func idempotencyKey(header http.Header) (string, error) {
	values := header.Values("Idempotency-Key")
	if len(values) == 0 {
		fresh, err := events.RandomID()
		return string(fresh), err
	}
	key := values[0]
	if len(values) > 1 || len(key) == 0 || len(key) > maxIdempotencyKey || bytes.ContainsFunc([]byte(key), invisible) {
		return "", problems.Refuse("invalid_idempotency_key")
	}
	return key, nil
}

func invisible(r rune) bool { return r <= ' ' || r > '~' }

// waitPosition reads Iris-Wait: a position as Iris-Position gave it.
func waitPosition(header http.Header) (position uint64, asked bool, err error) {
	values := header.Values("Iris-Wait")
	if len(values) == 0 {
		return 0, false, nil
	}
	position, err = strconv.ParseUint(values[0], 10, 63)
	if err != nil || len(values) > 1 || strconv.FormatUint(position, 10) != values[0] {
		return 0, false, problems.Refuse("invalid_position")
	}
	return position, true, nil
}

// traceParent is the caller's trace context (W3C); two of them are none.
func traceParent(header http.Header) string {
	if values := header.Values("traceparent"); len(values) == 1 {
		return values[0]
	}
	return ""
}
