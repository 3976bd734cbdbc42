package embedded

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/internal/assembly"
	"iris.example/iris/internal/natsserver"
	"iris.example/iris/runner"
)

// The two organisations, their people and their programs (spec 9.7).
const (
	mainOrganisation  = "acme"
	otherOrganisation = "borealis"
	secondProgram     = "atlas"
	workbenchRole     = "reviewer"
	producerName      = "conversations"
	assistantClient   = "assistant-app"
	pageClient        = "iris-pages"
)

func organisations() []string { return []string{mainOrganisation, otherOrganisation} }

// person is somebody, or some service, that tokens are made for.
type person struct {
	role        string // key in the ready file
	subject     string
	name        string
	client      string
	member      bool
	permissions []identity.Permission
	persona     int
	holds       string                // workbench role
	inspects    events.InspectionRole // empty: none
}

func people(org string) []person {
	of := func(name string) string { return name + "@" + org + ".example" }
	return []person{
		{role: "member", subject: of("ada"), name: "Ada", client: pageClient, member: true, permissions: []identity.Permission{identity.AgentMemoryManage}},
		{role: "assistant", subject: of("ada"), name: "Ada", client: assistantClient, permissions: []identity.Permission{identity.Propose, identity.Recall}},
		{role: "member2", subject: of("ben"), name: "Ben", client: pageClient, member: true, permissions: []identity.Permission{identity.AgentMemoryManage}},
		{role: "operator", subject: of("olga"), name: "Olga", client: pageClient, member: true, inspects: events.InspectionSupport, permissions: []identity.Permission{identity.InspectionRequest, identity.TwinsRead}},
		{role: "approver", subject: of("paul"), name: "Paul", client: pageClient, member: true, permissions: []identity.Permission{identity.InspectionGrant}},
		{role: "roleHolder", subject: of("ruth"), name: "Ruth", client: pageClient, member: true, holds: workbenchRole, permissions: []identity.Permission{identity.RoleMemoryRead}, persona: 4},
		{role: "curator", subject: of("carl"), name: "Carl", client: pageClient, member: true, permissions: []identity.Permission{identity.RoleMemoryRead, identity.RoleMemoryManage}, persona: 4},
		{role: "auditor", subject: of("gus"), name: "Gus", client: pageClient, permissions: []identity.Permission{identity.AuditRead}},
		{role: "admin", subject: of("ingrid"), name: "Ingrid", client: pageClient, permissions: []identity.Permission{identity.Admin, identity.DataRightsOperate}},
		{role: "producer", subject: "service:" + producerName, name: "Conversations", client: producerName, permissions: []identity.Permission{identity.Propose}},
	}
}

// foundAll founds some organisations at once: most of it is waiting for one of the stores.
func (i *Instance) foundAll(ctx context.Context) error {
	for _, org := range organisations() {
		if err := i.Found(ctx, org); err != nil {
			return err
		}
	}
	var group errgroup.Group
	group.SetLimit(foundedAtOnce)
	for _, org := range i.cfg.Organisations {
		group.Go(func() error { _, err := i.found(ctx, org); return err })
	}
	return group.Wait()
}

const foundedAtOnce = 8

// Found makes what isn't there yet of an organisation with its people. Every step says "it is so" when it was done before, so that a
// start after a crash goes on.
func (i *Instance) Found(ctx context.Context, org string) error {
	writable, err := i.found(ctx, org)
	if err != nil || !writable {
		return err
	}
	for _, p := range people(org) {
		if !p.member {
			continue
		}
		err := i.Admit(ctx, org, p.subject, p.name)
		if err == nil {
			err = i.entitle(ctx, org, p)
		}
		if err != nil && !i.damaged(org, p.role, err) {
			return fmt.Errorf("admit %s of organisation %s: %w", p.role, org, err)
		}
	}
	return nil
}

// damaged tells of a record that isn't what was written. Whom it is of is served nothing; everybody else is, and who may audit can ask.
func (i *Instance) damaged(org, whose string, err error) bool {
	if !errors.Is(err, runner.ErrBroken) {
		return false
	}
	i.cfg.Logger.Error("record damaged", "organisation", org, "of", whose, "error", err, "do", "see aggregate_chain_broken in docs/operations.md")
	i.say("organisation " + org + ": what is on record of the " + whose + " is damaged; nothing is decided or said by it")
	return true
}

// entitle gives a person the role that they hold, by an event of their book.
func (i *Instance) entitle(ctx context.Context, org string, p person) error {
	const after = 100 // commands of an admission
	var command member.Command
	switch {
	case p.holds != "":
		command = member.GiveRole{Role: p.holds}
	case p.inspects != "":
		command = member.GiveInspectionRole{Role: p.inspects}
	default:
		return nil
	}
	id, found, err := i.Vault.Resolve(ctx, org, i.Acts.Issuer, p.subject)
	if err != nil || !found {
		return err
	}
	return i.onboard(ctx, org, id, after, command)
}

// found is Found without the people.
func (i *Instance) found(ctx context.Context, org string) (writable bool, err error) {
	if writable, err = i.openOrganisation(ctx, org); err != nil {
		return false, fmt.Errorf("organisation %s: %w", org, err)
	}
	if !writable { // the others are served all the same; /readyz and the log say what is wrong
		i.say("organisation " + org + " is not written to: its streams are not what they must be")
		return false, nil
	}
	if err := i.define(ctx, org); err != nil {
		if i.damaged(org, "organisation", err) {
			return false, nil
		}
		return false, fmt.Errorf("define organisation %s: %w", org, err)
	}
	if err := i.Acts.CutOff(ctx, org); err != nil {
		return false, fmt.Errorf("cut off revoked producers of organisation %s: %w", org, err)
	}
	return true, nil
}

// openOrganisation creates the streams only of an organisation that was never founded here: the marker is written after both
// stand, and the evidence knows what was written to. A stream that is missing later is an alarm, never created again (spec 9.2).
func (i *Instance) openOrganisation(ctx context.Context, org string) (writable bool, err error) {
	marker := i.cfg.path("organisations", org)
	_, err = os.Stat(marker)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if err != nil && !i.streams.Known(org) {
		if err := i.createOrganisation(ctx, org, marker); err != nil {
			return false, err
		}
	}
	if writable, err = i.streams.Watch(ctx, org); err != nil || !writable {
		return false, err
	}
	return true, assembly.CheckClock(ctx, i.Log, org, i.Now())
}

func (i *Instance) createOrganisation(ctx context.Context, org, marker string) error {
	if err := i.Log.CreateOrganisation(ctx, org); err != nil {
		return err
	}
	if err := i.Vault.EnsureOrganisation(ctx, org); err != nil {
		return err
	}
	if err := os.MkdirAll(i.cfg.path("organisations"), 0o711); err != nil {
		return err
	}
	return os.WriteFile(marker, nil, 0o600)
}

func (i *Instance) define(ctx context.Context, org string) error {
	credentials, err := i.producerCredentials(org)
	if err != nil {
		return err
	}
	for _, command := range []organisation.Command{
		organisation.Found{}, organisation.DefineProgram{Program: secondProgram}, organisation.DefineRole{Role: workbenchRole},
		organisation.PublishTerms{ID: "memory", Version: "2026-11", Locale: "en", Text: memoryTerms},
		organisation.RegisterClient{Client: assistantClient, Consumers: []events.Consumer{events.ConsumerAssistant}},
		organisation.RegisterClient{Client: producerName, Consumers: []events.Consumer{events.ConsumerAssistant}},
	} {
		if err := i.organise(ctx, org, command); err != nil {
			return err
		}
	}
	return i.registerProducer(ctx, org, credentials)
}

const memoryTerms = `We keep what you ask us to keep, for as long as you want, in this organisation alone. ` +
	`An assistant may use it when it helps you. You can see all of it, take any of it back, and have it destroyed, at any time. ` +
	`Nobody trains a model with it.`

func (i *Instance) organise(ctx context.Context, org string, command organisation.Command) error {
	id, err := events.RandomID()
	if err != nil {
		return err
	}
	_, err = i.Acts.Organisations.Run(ctx, runner.Command[organisation.Command]{
		Organisation: org, Aggregate: events.Organisation(), ID: id, Received: events.At(i.Now()), Actor: events.Actor{ID: "iris", Kind: events.ActorSystem},
		Setting: runner.Setting{Policy: organisation.Initial(org).Policy}, Request: []byte(id), Body: command,
	})
	return err
}

// Admit gives a person a book, both programs, and the two purposes without which nothing can be kept.
func (i *Instance) Admit(ctx context.Context, org, subject, name string) error {
	id, _, err := i.Vault.Register(ctx, org, i.Acts.Issuer, subject, name)
	if err != nil {
		return err
	}
	if err := i.Vault.EnsureMember(ctx, org, id); err != nil {
		return err
	}
	commands := []member.Command{member.Register{}, member.Join{Program: events.DefaultProgram}, member.Join{Program: secondProgram}}
	for _, key := range []events.ConsentKey{events.PurposeDataProcessing, events.PurposeDataStorage} {
		commands = append(commands, member.Grant{
			Answer: member.Answer{Key: key, TermsID: "memory", TermsVersion: "2026-11"}, Source: events.SourceSettingsToggle, Locale: "en",
			Shown: member.ConsentQuestion(key),
		})
	}
	for n, command := range commands {
		if err := i.onboard(ctx, org, id, n, command); err != nil {
			return err
		}
	}
	return nil
}

// onboard runs the n-th command of a member's admission under an id of its own, so that a later start neither repeats it nor
// grants again what the member has withdrawn since.
func (i *Instance) onboard(ctx context.Context, org string, id events.ID, n int, command member.Command) error {
	defined, err := i.definitions(ctx, org)
	if err != nil {
		return err
	}
	if _, granting := command.(member.Grant); granting {
		answered := false
		err := i.Acts.Members.Look(ctx, org, events.Member(id), func(book *member.State, _ uint64) error {
			_, answered = book.Consents[command.(member.Grant).Key]
			return nil
		})
		if err != nil || answered {
			return err
		}
	}
	_, err = i.Acts.Members.Run(ctx, runner.Command[member.Command]{
		Organisation: org, Aggregate: events.Member(id), ID: events.CommandID(org, "admission", string(id), fmt.Sprint(n)),
		Received: events.At(i.Now()), Actor: events.Actor{ID: string(id), Kind: events.ActorMember},
		Setting: runner.Setting{Policy: defined.Policy, Defined: defined}, Request: []byte("admission"), Body: command,
	})
	return err
}

func (i *Instance) definitions(ctx context.Context, org string) (defined *organisation.State, err error) {
	err = i.Acts.Organisations.View(ctx, org, events.Organisation(), func(s *organisation.State, _ uint64) error {
		defined = s
		return nil
	})
	return defined, err
}

// producerCredentials keeps one set of credentials for the organisation's producer and returns the public key in it.
func (i *Instance) producerCredentials(org string) (publicKey string, err error) {
	if err := os.MkdirAll(i.cfg.path("credentials"), 0o700); err != nil {
		return "", err
	}
	keyPath := i.credentialsPath(org) + ".pub"
	if known, err := os.ReadFile(keyPath); err == nil {
		return string(known), nil
	}
	credentials, err := i.NATS.Issue(producerOf(org), time.Time{})
	if err != nil {
		return "", err
	}
	if err := credentials.Write(i.credentialsPath(org)); err != nil {
		return "", err
	}
	return credentials.PublicKey, os.WriteFile(keyPath, []byte(credentials.PublicKey), 0o600)
}

func (i *Instance) credentialsPath(org string) string {
	return i.cfg.path("credentials", org+"-"+producerName+".creds")
}

func producerOf(org string) natsserver.Producer {
	return natsserver.Producer{Org: org, Name: producerName}
}

// Ready is the ready file and run.json (spec 9.7).
type Ready struct {
	HTTP              string            `json:"http"`
	NATS              ReadyNATS         `json:"nats"`
	Postgres          string            `json:"postgres"`
	Organisation      string            `json:"organisation"`
	Tokens            map[string]string `json:"tokens"`
	SignIn            map[string]string `json:"signIn"`
	OtherOrganisation ReadyOther        `json:"otherOrganisation"`
}

// ReadyNATS is what the first organisation's producer connects with.
type ReadyNATS struct {
	URL         string `json:"url"`
	Creds       string `json:"creds"`
	InboxPrefix string `json:"inboxPrefix"`
	Subject     string `json:"subject"`
	IntakeKey   string `json:"intakeKey"` // what its claims are sealed to
}

// ReadyOther is the second organisation.
type ReadyOther struct {
	Organisation string            `json:"organisation"`
	Tokens       map[string]string `json:"tokens"`
}

const tokenLife = 12 * time.Hour

func (i *Instance) ready(ctx context.Context) (Ready, error) {
	tokens, err := i.tokens(ctx, mainOrganisation)
	if err != nil {
		return Ready{}, err
	}
	others, err := i.tokens(ctx, otherOrganisation)
	if err != nil {
		return Ready{}, err
	}
	producer := producerOf(mainOrganisation)
	creds, err := absolute(i.credentialsPath(mainOrganisation))
	if err != nil {
		return Ready{}, err
	}
	intakeKey, err := i.Vault.IntakeKey(ctx, mainOrganisation)
	if err != nil {
		return Ready{}, err
	}
	return Ready{
		HTTP: i.origin(), Organisation: mainOrganisation, Tokens: tokens, SignIn: i.makeCodes(tokens),
		NATS:              ReadyNATS{URL: i.NATS.URL(), Creds: creds, InboxPrefix: producer.InboxPrefix(), Subject: producer.Subject(), IntakeKey: intakeKey},
		Postgres:          i.databases.URL(modelsDatabase, "iris_app"),
		OtherOrganisation: ReadyOther{Organisation: otherOrganisation, Tokens: others},
	}, nil
}

func (i *Instance) tokens(ctx context.Context, org string) (map[string]string, error) {
	tokens := map[string]string{}
	for _, p := range people(org) {
		token, err := i.Issuer.Mint(ctx, devissuer.Claims{
			Subject: p.subject, Client: p.client, Organisation: org, Permissions: p.permissions, PersonaVersion: p.persona,
		}, tokenLife)
		if err != nil {
			return nil, fmt.Errorf("make a token for %s: %w", p.role, err)
		}
		tokens[p.role] = token
	}
	return tokens, nil
}

// code lets a browser in as one of the demonstration's people. It is a credential: printed, never stored, gone with the process.
type code struct{ name, token string }

// makeCodes gives every person with a page a code, and returns the addresses to print.
func (i *Instance) makeCodes(tokens map[string]string) map[string]string {
	links := map[string]string{}
	for _, p := range people(mainOrganisation) {
		if !p.member {
			continue
		}
		secret := make([]byte, 16)
		_, _ = rand.Read(secret) // never fails (crypto/rand)
		i.codes.Store(hex.EncodeToString(secret), code{p.name, tokens[p.role]})
		links[p.role] = i.origin() + "/sign-in?code=" + hex.EncodeToString(secret)
	}
	return links
}

func (i *Instance) signIn(secret string) (name, token string, ok bool) {
	found, ok := i.codes.Load(secret)
	if !ok {
		return "", "", false
	}
	c := found.(code)
	return c.name, c.token, true
}

func writeJSON(path string, v any) error {
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	// Replaced whole, so that whoever waits for the file never reads half of it.
	temporary := path + ".new"
	if err := os.WriteFile(temporary, append(content, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
