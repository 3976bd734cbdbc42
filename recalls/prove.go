package recalls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"iris.example/iris/events"
	"iris.example/iris/recall"
)

// digested is what ResultSHA256 is taken over: the result as it was answered, with every sealed field replaced by its salted
// commitment (spec 3.3). It says nothing to who holds no salts.
type digested struct {
	RecallID       events.ID       `json:"recallId"`
	At             events.Time     `json:"at"`
	Engine         string          `json:"engine"`
	PolicyVersion  string          `json:"policyVersion"`
	PolicySHA256   string          `json:"policySha256"`
	Heads          []events.Head   `json:"heads"`
	AsOf           string          `json:"asOf"`
	EvaluatedCount int             `json:"evaluatedCount"`
	ReturnedIDs    []events.ID     `json:"returnedIds"`
	Entries        []digestedEntry `json:"entries"`
	Ask            string          `json:"ask"`
	Findings       string          `json:"findings"`
}

type digestedEntry struct {
	events.RecalledEntry
	ProvenanceChain []recall.Provenance `json:"provenanceChain"`
}

// digest computes ResultSHA256 for an envelope about to be recorded; it settles the salts of its secrets.
func digest(envelope *events.RecallResolved, result recall.Result) (string, error) {
	ask, err := envelope.Ask.Commit("ask")
	if err != nil {
		return "", fmt.Errorf("digest a recall: %w", err)
	}
	found, err := envelope.Findings.Commit("findings")
	if err != nil {
		return "", fmt.Errorf("digest a recall: %w", err)
	}
	return digestWith(envelope, result, ask, found)
}

func digestWith(envelope *events.RecallResolved, result recall.Result, ask, found string) (string, error) {
	d := digested{
		RecallID: envelope.RecallID, At: envelope.At, Engine: envelope.Engine, PolicyVersion: envelope.PolicyVersion,
		PolicySHA256: envelope.PolicySHA256, Heads: envelope.Heads, AsOf: envelope.AsOf, EvaluatedCount: result.EvaluatedCount,
		ReturnedIDs: result.ReturnedIDs, Entries: []digestedEntry{}, Ask: ask, Findings: found,
	}
	for i, e := range recalled(result) {
		d.Entries = append(d.Entries, digestedEntry{e, result.Entries[i].ProvenanceChain})
	}
	canonical, err := events.Canonical(d)
	if err != nil {
		return "", fmt.Errorf("digest a recall: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// Verdicts of a proof (spec 3.3).
const (
	Verified    = "verified"
	NotVerified = "not-verified"
)

// Proof is what a replay of a recall found. It holds no text: ids, counts, positions, digests.
type Proof struct {
	Result     string // Verified or NotVerified
	Reason     string // why not; empty when verified
	Recorded   *events.RecallResolved
	Recomputed string // the digest of the result that the engine made again
	Returned   []events.ID
	Evaluated  int
}

// ErrEngine: the envelope names an engine that this program doesn't have.
var ErrEngine = errors.New("recall_engine_unknown")

// Prove folds each aggregate to the head that the envelope names, runs the engine again under the policy of then, and compares.
// An error means that it could not check.
func (s *Service) Prove(ctx context.Context, org string, envelope *events.RecallResolved) (Proof, error) {
	proof := Proof{Result: NotVerified, Recorded: envelope}
	if envelope.Engine != recall.Engine {
		return proof, fmt.Errorf("%w: %q", ErrEngine, envelope.Engine)
	}
	memberAt, definedAt, err := headsOf(envelope)
	if err != nil {
		return proof, err
	}
	defined, err := s.Organisations.At(ctx, org, events.Organisation(), definedAt)
	if err != nil {
		return proof, fmt.Errorf("fold the organisation to %d: %w", definedAt, err)
	}
	if err := defined.Readable(); err != nil {
		return proof, fmt.Errorf("read the policy at %d: %w", definedAt, err)
	}
	if defined.PolicySHA256 != envelope.PolicySHA256 {
		proof.Reason = "another policy was in force at the head that the envelope names"
		return proof, nil
	}
	book, err := s.Members.At(ctx, org, events.Member(envelope.MemberID), memberAt)
	if err != nil {
		return proof, fmt.Errorf("fold the member's book to %d: %w", memberAt, err)
	}
	ask := envelope.Ask.Plain
	request := requestOf(Asker{Organisation: org, Member: envelope.MemberID}, ask)
	request.Suspected = suspectedOf(envelope.Findings.Plain)
	result := resolve(book, request, defined, envelope.At)
	proof.Returned, proof.Evaluated = result.ReturnedIDs, result.EvaluatedCount

	again := findings(result)
	again.Verdicts = fewer(again.Verdicts, len(envelope.Findings.Plain.Verdicts))
	found, err := envelope.Findings.Recommit("findings", again)
	if err != nil {
		return proof, err
	}
	if proof.Recomputed, err = digestWith(envelope, result, envelope.Ask.Sealed.Commitment, found); err != nil {
		return proof, err
	}
	if proof.Recomputed != envelope.ResultSHA256 {
		proof.Reason = "the engine's result has another digest than the recorded one"
		return proof, nil
	}
	proof.Result = Verified
	return proof, nil
}

func headsOf(envelope *events.RecallResolved) (memberAt, definedAt uint64, err error) {
	found := map[string]uint64{}
	for _, h := range envelope.Heads {
		if found[h.Aggregate], err = strconv.ParseUint(h.Sequence, 10, 64); err != nil {
			return 0, 0, fmt.Errorf("%w: a head of recall %s", events.ErrMalformed, envelope.RecallID)
		}
	}
	memberAt, ok1 := found[events.Member(envelope.MemberID).String()]
	definedAt, ok2 := found[events.Organisation().String()]
	if !ok1 || !ok2 {
		return 0, 0, fmt.Errorf("%w: the heads of recall %s", events.ErrMalformed, envelope.RecallID)
	}
	return memberAt, definedAt, nil
}
