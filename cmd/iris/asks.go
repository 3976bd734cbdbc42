package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/recalls"
)

type recallCommand struct {
	Query   string   `arg:"" optional:"" help:"What the assistant wants to know."`
	Data    string   `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	Program string   `default:"default" help:"Program of the member."`
	Surface string   `default:"assistant" help:"Surface that the answer is for."`
	Context []string `help:"Relevant contexts: health, identity, spiritual, practice, sexuality, financial, legal, safety, crisis."`
	Session string   `help:"Ask from within this session."`
	JSON    bool     `name:"json" help:"Print the answer as it came."`
}

// recalled is the part of an answer that is printed.
type recalled struct {
	RecallID string `json:"recallId"`
	AsOf     string `json:"asOf"`
	Entries  []struct {
		MemoryID events.ID       `json:"memoryId"`
		Body     string          `json:"body"`
		Category events.Category `json:"category"`
	} `json:"entries"`
	Audit struct {
		EvaluatedCount    int            `json:"evaluatedCount"`
		SuppressionCounts map[string]int `json:"suppressionCounts"`
	} `json:"audit"`
}

func (c recallCommand) Run(ctx context.Context, out output) error {
	iris, err := openClient(c.Data)
	if err != nil {
		return err
	}
	question := acts.Question{
		Surface: c.Surface, Consumer: events.ConsumerAssistant, Scope: events.Scope{Kind: events.ScopeProfile}, Program: c.Program,
		Query: c.Query, Contexts: c.Context, Purpose: "assist",
	}
	if c.Session != "" {
		question.Scope = events.Scope{Kind: events.ScopeSession, SessionID: c.Session}
	}
	var raw json.RawMessage
	if err := iris.ask(ctx, "assistant", "POST", "/v1/recall", question, &raw); err != nil {
		return err
	}
	if c.JSON {
		return out.json(raw)
	}
	var answer recalled
	if err := json.Unmarshal(raw, &answer); err != nil {
		return err
	}
	answer.print(out.Out)
	fmt.Fprintf(out.Out, "Prove it: iris audit recall %s --data %s\n", answer.RecallID, c.Data)
	return nil
}

// print keeps every line of a text under its memory.
func (r recalled) print(to io.Writer) {
	fmt.Fprintf(to, "Recall %s, as of position %s: %d of %d entries.\n", r.RecallID, r.AsOf, len(r.Entries), r.Audit.EvaluatedCount)
	for _, e := range r.Entries {
		fmt.Fprintf(to, "  %s  [%s] %s\n", e.MemoryID, e.Category, strings.ReplaceAll(e.Body, "\n", "\n      "))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Audit.SuppressionCounts)) {
		fmt.Fprintf(to, "  withheld: %d, %s\n", r.Audit.SuppressionCounts[reason], reason)
	}
}

type auditCommand struct {
	Recall auditRecall `cmd:"" help:"Fold every aggregate to the heads that a recall used, run the engine again, and compare. Exits 0 verified, 1 not verified, 2 could not check, 3 verified except what is erased."`
}

type auditRecall struct {
	ID   string        `arg:"" help:"The recall's id."`
	Wait time.Duration `help:"Wait this long for a recall that was made a moment ago to be listed."`
	Data string        `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON bool          `name:"json" help:"Print the proof as JSON."`
}

type proof struct {
	Result     string `json:"result"`
	Engine     string `json:"engine"`
	Recomputed string `json:"recomputed"`
	Recorded   string `json:"recorded"`
	Reason     string `json:"reason"`
	Heads      []events.Head
}

func (c auditRecall) Run(ctx context.Context, out output) error {
	iris, err := openClient(c.Data)
	if err != nil {
		return err
	}
	raw, err := c.replay(ctx, iris)
	var refused *refusal
	if errors.As(err, &refused) && refused.Code == "record_damaged" { // checked, and found wanting
		return &exit{exitNot, fmt.Errorf("not verified: %w", refused)}
	}
	if err != nil {
		return err
	}
	var found proof
	if err := json.Unmarshal(raw, &found); err != nil {
		return err
	}
	if c.JSON {
		err = out.json(raw)
	} else {
		err = found.print(c.ID, out)
	}
	if err != nil {
		return err
	}
	return verdict(found)
}

// replay asks for the proof. A recall is listed a moment after it was answered; what is not there after Wait is not there.
func (c auditRecall) replay(ctx context.Context, iris *client) (raw json.RawMessage, err error) {
	until := time.Now().Add(c.Wait)
	for {
		err = iris.ask(ctx, "auditor", "GET", "/v1/audit/recalls/"+url.PathEscape(c.ID)+"/replay", nil, &raw)
		var refused *refusal
		if !errors.As(err, &refused) || refused.Status != http.StatusNotFound || time.Now().After(until) {
			return raw, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// verdict says with which code the program ends.
func verdict(p proof) error {
	switch p.Result {
	case recalls.Verified:
		return nil
	case "verified-except-erased":
		return &exit{exitExceptErased, errors.New("verified, except what has been erased since")}
	}
	return &exit{exitNot, fmt.Errorf("not verified: %s", p.Reason)}
}

func (p proof) print(id string, out output) error {
	fmt.Fprintf(out.Out, "Recall %s: %s\n  engine      %s\n", id, p.Result, p.Engine)
	for _, h := range p.Heads {
		fmt.Fprintf(out.Out, "  folded      %s to %s\n", h.Aggregate, h.Sequence)
	}
	_, err := fmt.Fprintf(out.Out, "  recorded    sha256:%s\n  recomputed  sha256:%s\n", p.Recorded, p.Recomputed)
	return err
}
