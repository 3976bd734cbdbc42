// Package organisation decides about an organisation's definitions: programs, terms, producers, clients, policy (spec 9.2). It
// holds nothing about a person. Its State is a value that nobody changes: Evolve returns another, so that every decision of the
// organisation may read one without a lock.
package organisation

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/policy"
)

// Terms are a published text.
type Terms struct {
	ID, Version, Locale, Text, SHA256 string
	At                                events.Time
}

// TermsKey names one version of a text.
type TermsKey struct{ ID, Version string }

// Producer is a service that may publish claims, or might until it was revoked.
type Producer struct {
	Name      string
	Consumer  events.Consumer
	PublicKey string
	Revoked   bool
}

// State is what the organisation has defined.
type State struct {
	Organisation string
	Founded      bool
	Programs     map[string]bool
	Roles        map[string]bool // workbench roles
	Terms        map[TermsKey]Terms
	Current      map[string]TermsKey // newest version by terms id
	Producers    map[string]Producer
	RevokedKeys  []string                     // public keys of every producer that must stay cut off, oldest first
	Clients      map[string][]events.Consumer // one that was removed has none, and stays known
	Tenants      map[string]Tenant
	Places       Places
	Policy       *policy.Document // in force: the shipped default until another is applied (spec 8)
	PolicySHA256 string           // empty while the policy is unreadable
	// PolicyUnreadable: what was applied last doesn't parse here, and Policy is the closed one (see Readable).
	PolicyUnreadable bool
	Policies         map[string]string // the digest of every document that was ever in force, by version; and the closed one's name
}

// shipped is read once: it takes a millisecond, and nobody changes a document.
var shipped = sync.OnceValues(func() (*policy.Document, string) {
	document := policy.Default()
	return document, document.SHA256()
})

// Initial is the state before the first event.
func Initial(org string) *State {
	document, digest := shipped()
	return &State{
		Policy: document, PolicySHA256: digest,
		Organisation: org, Programs: map[string]bool{}, Roles: map[string]bool{}, Terms: map[TermsKey]Terms{}, Current: map[string]TermsKey{},
		Producers: map[string]Producer{}, Clients: map[string][]events.Consumer{}, Tenants: map[string]Tenant{},
		Policies: map[string]string{document.Version: digest, policy.ClosedVersion: ""},
	}
}

// ActsAs reports whether the client is registered for the consumer (spec 9.5).
func (s *State) ActsAs(client string, consumer events.Consumer) bool {
	return slices.Contains(s.Clients[client], consumer)
}

// HasProgram reports whether the program is defined.
func (s *State) HasProgram(program string) bool { return s.Programs[program] }

// HasRole reports whether the workbench role is defined.
func (s *State) HasRole(role string) bool { return s.Roles[role] }

// Readable refuses while nobody knows the policy in force. The one before it may allow what it forbids, so that nothing is recalled,
// and nothing decided but what only takes something back, until a version reads it or another is applied (spec 8).
func (s *State) Readable() error {
	if s.PolicyUnreadable {
		return aggregates.Refuse("policy_unreadable", "spec 8")
	}
	return nil
}

// HasClaimant reports whether anyone of that name claims, or ever did.
func (s *State) HasClaimant(name string) bool {
	_, producer := s.Producers[name]
	_, client := s.Clients[name]
	return producer || client
}

// Claimants lists who may claim now, in order: producers that stand and clients that speak for a consumer.
func (s *State) Claimants() []string {
	names := map[string]bool{}
	for name, p := range s.Producers {
		if !p.Revoked {
			names[name] = true
		}
	}
	for name, consumers := range s.Clients {
		if len(consumers) > 0 {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// TermsText is the text of a published version.
func (s *State) TermsText(id, version string) (string, bool) {
	terms, ok := s.Terms[TermsKey{id, version}]
	return terms.Text, ok
}

// TermsIDs lists the texts that were published, in order.
func (s *State) TermsIDs() []string { return slices.Sorted(maps.Keys(s.Current)) }

// Command is what an organisation can be asked.
type Command interface{ command() }

type (
	// Found opens the organisation with its program default.
	Found struct{}
	// DefineProgram adds a program.
	DefineProgram struct{ Program string }
	// DefineRole adds a workbench role.
	DefineRole struct{ Role string }
	// PublishTerms adds a version of a text.
	PublishTerms struct{ ID, Version, Locale, Text string }
	// RegisterProducer lets a service publish claims as a consumer. One that stands gets other credentials, and those of before
	// are revoked; Fresh refuses that.
	RegisterProducer struct {
		Name      string
		Consumer  events.Consumer
		PublicKey string
		Fresh     bool
	}
	// RevokeProducer ends a producer's credentials.
	RevokeProducer struct{ Name string }
	// RegisterClient binds a client to consumers.
	RegisterClient struct {
		Client    string
		Consumers []events.Consumer
	}
	// ApplyPolicy puts a document in force.
	ApplyPolicy struct{ Document []byte }
)

func (Found) command()            {}
func (DefineProgram) command()    {}
func (DefineRole) command()       {}
func (PublishTerms) command()     {}
func (RegisterProducer) command() {}
func (RevokeProducer) command()   {}
func (RegisterClient) command()   {}
func (ApplyPolicy) command()      {}

// Decide says what follows from a command. What is so already yields no event and no error.
func Decide(s *State, c Command, _ aggregates.Env) ([]events.Event, error) {
	if _, founding := c.(Found); !founding && !s.Founded {
		return nil, aggregates.Refuse("organisation_unknown", "spec 9.2")
	}
	if err := s.Readable(); err != nil && !mends(c) {
		return nil, err
	}
	if decided, was, err := serve(s, c); was {
		return decided, err
	}
	switch c := c.(type) {
	case Found:
		return found(s)
	case DefineProgram:
		if s.Programs[c.Program] {
			return nil, nil
		}
		return []events.Event{&events.ProgramDefined{Program: c.Program}}, nil
	case DefineRole:
		return defineRole(s, c)
	case PublishTerms:
		return publishTerms(s, c)
	case RegisterProducer:
		return registerProducer(s, c)
	case RevokeProducer:
		return revokeProducer(s, c)
	case RegisterClient:
		return registerClient(s, c)
	case ApplyPolicy:
		return applyPolicy(s, c)
	}
	return nil, aggregates.Refuse("command_unknown", "spec 9.2")
}

// mends reports whether a command is decided also while nobody can read the policy in force: another is put in force, or somebody is cut
// off.
func mends(c Command) bool {
	switch c.(type) {
	case ApplyPolicy, RevokeProducer, RemoveClient, Quarantine, RemoveTenant:
		return true
	}
	return false
}

func found(s *State) ([]events.Event, error) {
	if s.Founded {
		return nil, nil
	}
	return []events.Event{
		&events.OrganisationFounded{OrganizationID: s.Organisation},
		&events.ProgramDefined{Program: events.DefaultProgram},
	}, nil
}

// defineRole: a workbench role can't take the name of an inspection role (spec 10.9).
func defineRole(s *State, c DefineRole) ([]events.Event, error) {
	if events.InspectionRole(c.Role).Valid() {
		return nil, aggregates.Refuse("role_reserved", "spec 10.9")
	}
	if s.Roles[c.Role] {
		return nil, nil
	}
	return []events.Event{&events.RoleDefined{Role: c.Role}}, nil
}

// publishTerms refuses to edit: the same id and version with another text is another version (spec 2.1).
func publishTerms(s *State, c PublishTerms) ([]events.Event, error) {
	if known, ok := s.Terms[TermsKey{c.ID, c.Version}]; ok {
		if known.Text == c.Text && known.Locale == c.Locale {
			return nil, nil
		}
		return nil, aggregates.Refuse("terms_immutable", "spec 2.1")
	}
	sum := sha256.Sum256([]byte(c.Text))
	return []events.Event{&events.TermsPublished{
		TermsID: c.ID, Version: c.Version, Locale: c.Locale, Text: c.Text, SHA256: hex.EncodeToString(sum[:]),
	}}, nil
}

// Registration stands in the command ids of members' registrations where a claim's has its producer's name (spec 9.2): a producer
// called so could name a claim that a member's book takes for the registration. No new one can be; one that was named so before is left
// as it is, because other ids would make other commands of its claims.
const Registration = "registration"

func registerProducer(s *State, c RegisterProducer) ([]events.Event, error) {
	if !c.Consumer.Valid() {
		return nil, aggregates.Refuse("consumer_unknown", "spec 1.1")
	}
	if slices.Contains(s.RevokedKeys, c.PublicKey) {
		return nil, aggregates.Refuse("producer_revoked", "spec 9.2") // a key that was cut off never comes back
	}
	registered := &events.ProducerRegistered{Producer: c.Name, Consumer: c.Consumer, PublicKey: c.PublicKey}
	known, ok := s.Producers[c.Name]
	switch {
	case !ok && c.Name == Registration:
		return nil, aggregates.Refuse("producer_name_reserved", "spec 9.2")
	case !ok || known.Revoked:
		return []events.Event{registered}, nil
	case known == Producer{Name: c.Name, Consumer: c.Consumer, PublicKey: c.PublicKey}:
		return nil, nil
	case c.Fresh:
		return nil, aggregates.Refuse("producer_exists", "spec 9.2")
	case known.PublicKey == c.PublicKey: // as another consumer, with the credentials it has
		return []events.Event{registered}, nil
	}
	return []events.Event{&events.ProducerRevoked{Producer: c.Name, PublicKey: known.PublicKey}, registered}, nil
}

func revokeProducer(s *State, c RevokeProducer) ([]events.Event, error) {
	known, ok := s.Producers[c.Name]
	if !ok {
		return nil, aggregates.Refuse("producer_unknown", "spec 9.2")
	}
	if known.Revoked {
		return nil, nil
	}
	return []events.Event{&events.ProducerRevoked{Producer: c.Name, PublicKey: known.PublicKey}}, nil
}

func registerClient(s *State, c RegisterClient) ([]events.Event, error) {
	for _, consumer := range c.Consumers {
		if !consumer.Valid() {
			return nil, aggregates.Refuse("consumer_unknown", "spec 1.1")
		}
	}
	if known, ok := s.Clients[c.Client]; ok && slices.Equal(known, c.Consumers) {
		return nil, nil
	}
	return []events.Event{&events.ClientRegistered{Client: c.Client, Consumers: c.Consumers}}, nil
}

func applyPolicy(s *State, c ApplyPolicy) ([]events.Event, error) {
	document, err := policy.Parse(c.Document)
	if err != nil {
		return nil, err
	}
	if document.SHA256() == s.PolicySHA256 && !s.PolicyUnreadable {
		return nil, nil
	}
	if digest, taken := s.Policies[document.Version]; taken && digest != document.SHA256() {
		return nil, aggregates.Refuse("policy_version_taken", "spec 8") // a decision names the version it was made under
	}
	return []events.Event{&events.PolicyApplied{Version: document.Version, SHA256: document.SHA256(), Document: c.Document}}, nil
}

// Evolve returns the state after the event and leaves s as it was.
func Evolve(s *State, e events.Recorded) *State {
	next := *s
	next.Places = s.placed(e)
	switch ev := e.Event.(type) {
	case *events.OrganisationFounded:
		next.Founded = true
	case *events.ProgramDefined:
		next.Programs = with(s.Programs, ev.Program, true)
	case *events.RoleDefined:
		next.Roles = with(s.Roles, ev.Role, true)
	case *events.TermsPublished:
		key := TermsKey{ev.TermsID, ev.Version}
		next.Terms = with(s.Terms, key, Terms{ev.TermsID, ev.Version, ev.Locale, ev.Text, ev.SHA256, e.RecordedAt})
		next.Current = with(s.Current, ev.TermsID, key)
	case *events.ProducerRegistered:
		next.Producers = with(s.Producers, ev.Producer, Producer{Name: ev.Producer, Consumer: ev.Consumer, PublicKey: ev.PublicKey})
	case *events.ProducerRevoked:
		producer := s.Producers[ev.Producer]
		producer.Name, producer.PublicKey, producer.Revoked = ev.Producer, ev.PublicKey, true
		next.Producers = with(s.Producers, ev.Producer, producer)
		next.RevokedKeys = append(slices.Clip(s.RevokedKeys), ev.PublicKey)
	case *events.ClientRegistered:
		next.Clients = with(s.Clients, ev.Client, ev.Consumers)
	case *events.PolicyApplied:
		// A stored policy was valid when it was applied; one that doesn't parse is of another version of Iris, or a changed stream.
		document, err := policy.Parse(ev.Document)
		if next.PolicyUnreadable = err != nil; err != nil {
			next.Policy, next.PolicySHA256 = policy.Closed(s.Policy), ""
		} else {
			next.Policy, next.PolicySHA256 = document, ev.SHA256
		}
		next.Policies = with(s.Policies, ev.Version, ev.SHA256)
	default:
		next.serves(ev)
	}
	return &next
}

func with[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	copied := maps.Clone(m)
	copied[k] = v
	return copied
}
