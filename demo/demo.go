// Package demo is a conversation of two organisations' members with their assistants, the claims that a producer makes of it,
// and the answers that the members give: what the demonstration is played from (spec 9.7). Some claims are left without an
// answer, for whoever opens the page, and one is an attack that the screening has to catch.
package demo

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"iris.example/iris/acts"
)

//go:embed conversation.jsonl
var conversation []byte

// Line is one line of the file: exactly one of its fields is set.
type Line struct {
	Turn   *Turn   `json:"turn,omitempty"`
	Claim  *Claim  `json:"claim,omitempty"`
	Answer *Answer `json:"answer,omitempty"`
}

// Turn is what somebody said. Nothing of it is ever sent to Iris: a producer claims, it doesn't pass on.
type Turn struct {
	Organisation string `json:"organisation"`
	Conversation string `json:"conversation"`
	Number       int    `json:"number"`
	Who          string `json:"who"`
	Text         string `json:"text"`
}

// Claim is what the producer publishes. Person is a role of the ready file; the producer names its subject.
type Claim struct {
	ID           string        `json:"id"`
	Organisation string        `json:"organisation"`
	Person       string        `json:"person"`
	Data         acts.Proposal `json:"data"`
}

// Answer is what the person says to a claim: accept, as it is or edited, or decline.
type Answer struct {
	Claim        string `json:"claim"`
	Organisation string `json:"organisation"`
	Person       string `json:"person"`
	Do           string `json:"do"`
	acts.Acceptance
}

// Lines reads the conversation.
func Lines() ([]Line, error) {
	var lines []Line
	for n, text := range bytes.Split(bytes.TrimSpace(conversation), []byte("\n")) {
		var line Line
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&line); err != nil {
			return nil, fmt.Errorf("read the conversation, line %d: %w", n+1, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}
