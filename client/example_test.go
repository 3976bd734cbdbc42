package client_test

import (
	"context"
	"fmt"
	"log"

	"iris.example/iris/client"
)

// A producer that tells what it learned, and hears what became of it. Address, credentials and intake key come from the answer that
// added the producer (iris producer add).
func Example() {
	ctx := context.Background()
	c, err := client.New(client.Config{URL: "nats://127.0.0.1:4222", Credentials: "acme-notes.creds", IntakeKey: "age1…"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	outcomes, err := c.Outcomes(ctx) // before the first claim: what nobody hears is not kept
	if err != nil {
		log.Fatal(err)
	}
	defer outcomes.Close()

	receipt, err := c.Propose(ctx, client.Claim{
		ID: "c-19/4", Member: client.Member{Subject: "ada@acme.example"}, Tier: "individual", Kind: "preference",
		Scope: client.Scope{Kind: "profile"}, Category: "preference", Subject: "units", Body: "Prefers metric units in all tables.",
		Origin: "model-inferred", SourceRefs: []client.SourceRef{{Kind: "conversation", Ref: "c-19", Turns: []int{4, 6}}},
	})
	if err != nil {
		log.Fatal(err) // the claim is still yours: send it again under the same id
	}
	outcome, err := outcomes.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.ID, outcome.Outcome, outcome.Reason)
}
