package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"iris.example/iris/internal/embedded"
	"iris.example/iris/problems"
)

// client asks a running Iris with what DIR/run.json holds: no file, no access.
type client struct {
	ready embedded.Ready
	http  http.Client
}

func openClient(dir string) (*client, error) {
	path := filepath.Join(dir, "run.json")
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &exit{exitCouldNot, fmt.Errorf("%s is not there: start Iris with `iris up --data %s`, or name its directory with --data", path, dir)}
	}
	if err != nil {
		return nil, &exit{exitCouldNot, fmt.Errorf("read %s: %w", path, err)}
	}
	c := &client{http: http.Client{Timeout: 30 * time.Second}}
	if err := json.Unmarshal(content, &c.ready); err != nil {
		return nil, &exit{exitCouldNot, fmt.Errorf("read %s: not what `iris up` writes: %w", path, err)}
	}
	return c, nil
}

// refusal is an answer's error document (RFC 9457).
type refusal struct {
	Code   string          `json:"code"`
	Detail string          `json:"detail"`
	Errors []problems.Item `json:"errors"`
	Status int             `json:"-"`
	asked  string
}

// Error has a line for each place that the answer names: its detail may say no more than "see errors".
func (r *refusal) Error() string {
	text := fmt.Sprintf("%s: %d %s: %s", r.asked, r.Status, r.Code, r.Detail)
	for _, item := range r.Errors {
		text += strings.TrimRight(fmt.Sprintf("\n  %s: %s %s", item.Code, item.Pointer, item.Detail), " ")
	}
	return text
}

// ask calls a route with the token of a role. An answer that is no 2xx is an error with the answer's code and words.
func (c *client) ask(ctx context.Context, role, method, path string, body, into any) error {
	return c.askUnder(ctx, "", role, method, path, body, into)
}

// askUnder is ask with an Idempotency-Key; empty: a fresh one of the answerer's.
func (c *client) askUnder(ctx context.Context, key, role, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.ready.HTTP+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.ready.Tokens[role])
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return &exit{exitCouldNot, fmt.Errorf("Iris does not answer at %s; is `iris up` running? %w", c.ready.HTTP, err)}
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		refused := &refusal{Status: answer.StatusCode, asked: method + " " + path}
		_ = json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(refused) // without a document the status has to do
		return &exit{exitCouldNot, refused}
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
