package embedded

import (
	"context"
	"slices"
	"time"

	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	"iris.example/iris/internal/natsserver"
	"iris.example/iris/workers/intake"
)

// brokerCredentials is acts.Credentials on the server inside this process. They have no end of their own: a producer is revoked.
type brokerCredentials struct{ server *natsserver.Server }

func (b brokerCredentials) Issue(_ context.Context, org, producer string) (publicKey string, file []byte, err error) {
	credentials, err := b.server.Issue(natsserver.Producer{Org: org, Name: producer}, time.Time{})
	if err != nil {
		return "", nil, err
	}
	return credentials.PublicKey, credentials.Contents(), nil
}

func (b brokerCredentials) Revoke(_ context.Context, publicKey string) error {
	return b.server.Revoke(publicKey)
}

// registerProducer registers the producer that the ready file speaks of, unless an administrator has revoked it: a start doesn't
// let it in again.
func (i *Instance) registerProducer(ctx context.Context, org, publicKey string) error {
	defined, err := i.definitions(ctx, org)
	if err != nil || defined.Producers[producerName].Revoked || slices.Contains(defined.RevokedKeys, publicKey) {
		return err
	}
	return i.organise(ctx, org, organisation.RegisterProducer{Name: producerName, Consumer: events.ConsumerAssistant, PublicKey: publicKey})
}

// intakeBehind asks by the machine's clock, which is the broker's: --clock-offset moves only the product's.
func (i *Instance) intakeBehind(ctx context.Context) error {
	return intake.Behind(ctx, i.Log, time.Now())
}
