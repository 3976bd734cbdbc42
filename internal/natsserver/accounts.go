package natsserver

import "github.com/nats-io/jwt/v2"

// Everything that crosses from one account into the other.
const (
	allInboxes  = "iris.in.*.*.memory.proposed"
	allOutcomes = "iris.out.*.*"
)

// frozen are the requests no credential of ours may send (spec 9.2): what is
// recorded can't be taken back by a slip of our own code.
var frozen = [...]string{
	"$JS.API.STREAM.DELETE.>",
	"$JS.API.STREAM.PURGE.>",
	"$JS.API.STREAM.MSG.DELETE.>",
	"$JS.API.STREAM.RESTORE.>",
	"$JS.API.STREAM.PEER.REMOVE.>",
	"$JS.API.ACCOUNT.>",
}

// streamUpdate is the provisioner's: it changes a stream's configuration.
const streamUpdate = "$JS.API.STREAM.UPDATE.>"

func (k *keys) systemClaims() *jwt.AccountClaims {
	c := jwt.NewAccountClaims(k.system.public)
	c.Name = "SYS"
	return c
}

func (k *keys) irisClaims() *jwt.AccountClaims {
	c := jwt.NewAccountClaims(k.iris.public)
	c.Name = "IRIS"
	c.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
	}
	c.Limits.DisallowBearer = true
	c.Exports.Add(
		&jwt.Export{Name: "inbox", Subject: allInboxes, Type: jwt.Service},
		&jwt.Export{Name: "outcomes", Subject: allOutcomes, Type: jwt.Stream},
	)
	return c
}

// producerClaims has no JetStream and carries who is revoked.
func (k *keys) producerClaims() *jwt.AccountClaims {
	c := jwt.NewAccountClaims(k.producers.public)
	c.Name = "PRODUCERS"
	c.Limits.DisallowBearer = true
	c.Imports.Add(
		&jwt.Import{Name: "inbox", Account: k.iris.public, Subject: allInboxes, Type: jwt.Service},
		&jwt.Import{Name: "outcomes", Account: k.iris.public, Subject: allOutcomes, Type: jwt.Stream},
	)
	// A key is used once, so a revocation is for ever: no clock is asked.
	for key := range k.revoked.keys {
		c.RevokeAt(key, forever)
	}
	return c
}

// coreClaims may do in IRIS whatever isn't frozen, from inside this process only.
func coreClaims(user string, alsoDenied ...string) *jwt.UserClaims {
	c := jwt.NewUserClaims(user)
	c.AllowedConnectionTypes.Add(jwt.ConnectionTypeInProcess)
	c.Pub.Deny.Add(frozen[:]...)
	c.Pub.Deny.Add(alsoDenied...)
	return c
}
