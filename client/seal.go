package client

import (
	"bytes"
	"encoding/json"
	"fmt"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// words are the personal part of a claim.
type words struct {
	Body       string      `json:"body"`
	Subject    string      `json:"subject,omitempty"`
	MultiActor *MultiActor `json:"multiActor,omitempty"`
}

// sealer encrypts to the organisation's intake key. Only Iris opens it; whoever runs the broker doesn't.
type sealer struct{ recipient age.Recipient }

func newSealer(intakeKey string) (*sealer, error) {
	recipient, err := age.ParseX25519Recipient(intakeKey)
	if err != nil {
		return nil, fmt.Errorf("%w: the intake key is no age recipient; take it from the answer that added the producer, or GET /v1/intake-key", ErrConfig)
	}
	return &sealer{recipient}, nil
}

func (s *sealer) seal(w words) (string, error) {
	plain, err := json.Marshal(w)
	if err != nil {
		return "", fmt.Errorf("%w: its words can't be written as JSON", ErrClaim)
	}
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	sealed, err := age.Encrypt(armored, s.recipient)
	if err == nil {
		_, err = sealed.Write(plain)
	}
	if err == nil {
		err = sealed.Close()
	}
	if err == nil {
		err = armored.Close()
	}
	if err != nil {
		return "", fmt.Errorf("seal a claim: %w", err)
	}
	return out.String(), nil
}
