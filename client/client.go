package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
)

var (
	// ErrConfig: half a configuration, or credentials that are no producer's.
	ErrConfig = errors.New("client_config_invalid")
	// ErrClaim: the claim can't be published as it is.
	ErrClaim = errors.New("claim_invalid")
	// ErrInboxFull: the inbox holds as much as it may. The claim isn't in it; send it later.
	ErrInboxFull = errors.New("inbox_full")
	// ErrRefused: the inbox refuses the claim, and will again: it is too large, or the credentials don't reach it.
	ErrRefused = errors.New("inbox_refused")
	// ErrUnknown: no answer came. The claim is in the inbox or it isn't: send it again under the same id.
	ErrUnknown = errors.New("receipt_unknown")
)

// Config says where and as whom.
type Config struct {
	URL         string // of NATS
	Credentials string // path of the producer's .creds file
	IntakeKey   string // the organisation's, age1…
	Plain       bool   // publish the words unsealed: whoever reads the broker's memory or its store's key reads them

	Attempts int           // how often a claim is sent before Propose gives up; 0: until its context ends
	Patience time.Duration // how long one answer is waited for; 0: 5 s
	Pause    time.Duration // the first pause before a claim is sent again, doubled up to 100 times; 0: 100 ms
	// Slowed hears why a claim is sent again, and in how long. It may be called from many goroutines.
	Slowed func(cause error, pause time.Duration)
}

// WithDefaults fills what was left out.
func (c Config) WithDefaults() Config {
	if c.Patience == 0 {
		c.Patience = 5 * time.Second
	}
	if c.Pause == 0 {
		c.Pause = 100 * time.Millisecond
	}
	if c.Slowed == nil {
		c.Slowed = func(error, time.Duration) {}
	}
	return c
}

// Validate refuses half a configuration.
func (c Config) Validate() error {
	switch {
	case c.URL == "" || c.Credentials == "":
		return fmt.Errorf("%w: the address of NATS and the producer's credentials are needed", ErrConfig)
	case c.IntakeKey == "" && !c.Plain:
		return fmt.Errorf("%w: no intake key to seal to; say Plain to publish unsealed", ErrConfig)
	case c.IntakeKey != "" && c.Plain:
		return fmt.Errorf("%w: an intake key and Plain contradict each other", ErrConfig)
	case c.Attempts < 0 || c.Patience < 0 || c.Pause < 0:
		return fmt.Errorf("%w: attempts, patience and pause aren't negative", ErrConfig)
	}
	return nil
}

// Client is one producer's connection. It is safe for concurrent use.
type Client struct {
	cfg    Config
	who    Producer
	conn   *nats.Conn
	sealer *sealer // nil: Plain
}

// Producer is who the credentials belong to.
type Producer struct{ Organisation, Name string }

func (p Producer) subject() string {
	return "iris.in." + p.Organisation + "." + p.Name + ".memory.proposed"
}
func (p Producer) outcomes() string { return "iris.out." + p.Organisation + "." + p.Name }
func (p Producer) inbox() string    { return "_INBOX_" + p.Organisation + "_" + p.Name }

// New connects. The credentials say for which organisation and producer.
func New(cfg Config) (*Client, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg}
	var err error
	if cfg.IntakeKey != "" {
		if c.sealer, err = newSealer(cfg.IntakeKey); err != nil {
			return nil, err
		}
	}
	if c.who, err = ProducerOf(cfg.Credentials); err != nil {
		return nil, err
	}
	c.conn, err = nats.Connect(cfg.URL, nats.UserCredentials(cfg.Credentials), nats.CustomInboxPrefix(c.who.inbox()),
		nats.Name("iris-producer"), nats.MaxReconnects(-1), nats.ReconnectWait(cfg.Pause))
	if err != nil {
		return nil, fmt.Errorf("connect to NATS%s: %w", unconnected(err), err)
	}
	return c, nil
}

// ProducerOf reads the one subject that the credentials may publish to. It doesn't verify them: the broker does.
func ProducerOf(path string) (Producer, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Producer{}, fmt.Errorf("read the credentials: %w", err)
	}
	token, err := jwt.ParseDecoratedJWT(content)
	if err != nil {
		return Producer{}, fmt.Errorf("%w: %s is no .creds file", ErrConfig, path)
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil || len(claims.Pub.Allow) != 1 {
		return Producer{}, fmt.Errorf("%w: %s holds no producer's credentials", ErrConfig, path)
	}
	parts := strings.Split(claims.Pub.Allow[0], ".")
	if len(parts) != 6 {
		return Producer{}, fmt.Errorf("%w: %s holds no producer's credentials", ErrConfig, path)
	}
	who := Producer{parts[2], parts[3]}
	if who.subject() != claims.Pub.Allow[0] {
		return Producer{}, fmt.Errorf("%w: %s holds no producer's credentials", ErrConfig, path)
	}
	return who, nil
}

// Producer is who this client speaks as.
func (c *Client) Producer() Producer { return c.who }

// Close ends the connection.
func (c *Client) Close() { c.conn.Close() }

// Receipt says that a claim is durable in the inbox: received, not yet recorded (spec 9.1).
type Receipt struct {
	ID       string // of the claim
	Sequence uint64 // in the inbox; it is no position
	Sent     int    // how often it was sent
}

// Propose publishes a claim and waits until the inbox has it. A full inbox and a missing answer are waited out and the claim is sent
// again under its id, ever more slowly, until Attempts or ctx end; the error then says what the last answer was.
func (c *Client) Propose(ctx context.Context, claim Claim) (Receipt, error) {
	// Encoded once: every attempt sends the same bytes.
	body, err := claim.encode(c.who.Name, c.sealer)
	if err != nil {
		return Receipt{}, err
	}
	for sent := 1; ; sent++ {
		sequence, err := c.publish(ctx, body)
		if err == nil {
			return Receipt{claim.ID, sequence, sent}, nil
		}
		if ctx.Err() != nil || !errors.Is(err, ErrInboxFull) && !errors.Is(err, ErrUnknown) || sent == c.cfg.Attempts {
			return Receipt{}, fmt.Errorf("propose claim %q, sent %d times: %w", claim.ID, sent, err)
		}
		pause := c.pause(sent)
		c.cfg.Slowed(err, pause)
		if rest(ctx, pause) != nil {
			return Receipt{}, fmt.Errorf("propose claim %q, sent %d times: %w: %w", claim.ID, sent, err, ctx.Err())
		}
	}
}

// pause doubles, up to 64 times the first, with some jitter so that many don't come back at once.
func (c *Client) pause(sent int) time.Duration {
	pause := c.cfg.Pause << min(sent-1, 6)
	return pause/2 + rand.N(pause/2+1)
}

func rest(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The inbox's answers that mean something here.
const (
	codeStoreFailed = 10077 // a limit of the inbox
	codeNoResources = 10023 // of the server
)

func (c *Client) publish(ctx context.Context, body []byte) (uint64, error) {
	limited, cancel := context.WithTimeout(ctx, c.cfg.Patience)
	defer cancel()
	reply, err := c.conn.RequestWithContext(limited, c.who.subject(), body)
	if errors.Is(err, nats.ErrMaxPayload) {
		return 0, fmt.Errorf("%w: the claim is too large", ErrRefused)
	}
	if err != nil { // no answer, none who listens, no connection; a permission that is missing gives no answer either
		return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var ack struct {
		Sequence uint64 `json:"seq"`
		Error    *struct {
			Status int `json:"code"`
			Code   int `json:"err_code"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return 0, fmt.Errorf("%w: its answer can't be read", ErrUnknown)
	}
	switch e := ack.Error; {
	case e == nil && ack.Sequence > 0:
		return ack.Sequence, nil
	case e == nil:
		return 0, fmt.Errorf("%w: its answer names no place", ErrUnknown)
	case e.Code == codeStoreFailed || e.Code == codeNoResources:
		return 0, fmt.Errorf("%w: server code %d", ErrInboxFull, e.Code)
	case e.Status >= 500:
		return 0, fmt.Errorf("%w: server code %d", ErrUnknown, e.Code)
	default:
		return 0, fmt.Errorf("%w: server code %d", ErrRefused, e.Code)
	}
}

// unconnected says what to look at where the broker wasn't reached, or doesn't take who asks.
func unconnected(err error) string {
	if errors.Is(err, nats.ErrAuthorization) {
		return " (it doesn't take these credentials: they may be revoked, or of another Iris; the organisation's administrator gives others)"
	}
	return " (is it the address of a running Iris?)"
}
