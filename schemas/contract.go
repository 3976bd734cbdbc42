package schemas

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"iris.example/iris/events"
)

//go:embed vocabulary.schema.json events/*.json claims/*.json outcomes/*.json api/*.json receipts/*.json
var files embed.FS

// Files are the published schemas, by path below the base.
func Files() fs.FS { return files }

// Base is what every $id starts with; the rest is the path of the file.
const Base = "https://iris.example/schemas/"

const suffix = ".schema.json"

// Requests that have a schema in api/.
const (
	RequestPropose  = "propose"
	RequestAccept   = "accept"
	RequestDecline  = "decline"
	RequestConsent  = "consent"
	RequestWithdraw = "withdraw"
	RequestRecall   = "recall"
	RequestState    = "state"
	RequestRevise   = "revise"
	RequestPause    = "pause"
	RequestNothing  = "nothing"
	RequestTerms    = "terms"
	RequestProducer = "producer"
	RequestSettings = "settings"
	RequestOptOuts  = "opt-outs"
	RequestUsed     = "used"
	RequestShare    = "share"

	RequestMember           = "member"
	RequestMembership       = "membership"
	RequestMembershipChange = "membership-change"
	RequestClient           = "client"
	RequestPolicy           = "policy"
	RequestSession          = "session"
	RequestTurn             = "turn"
	RequestItem             = "item"
	RequestTool             = "tool"
)

// Contract is every schema, compiled. It is safe for concurrent use.
type Contract struct {
	schemas map[string]schema // by the path of the file, without the suffix
	judges  sync.Pool
}

type schema struct {
	whole *jsonschema.Schema
	plain *plain // the same, where it can say yes sooner
}

var _ events.Contract = (*Contract)(nil)

// Compile reads the embedded files and nothing else: a reference to anything outside of them is an error.
func Compile() (*Contract, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseRegexpEngine(compilePattern)
	compiler.UseLoader(offline{})
	paths, err := addAll(compiler)
	if err != nil {
		return nil, err
	}
	c := &Contract{schemas: make(map[string]schema, len(paths)), judges: sync.Pool{New: func() any { return new(judge) }}}
	known := map[*jsonschema.Schema]*plain{}
	for _, path := range paths {
		if err := c.compile(compiler, strings.TrimSuffix(path, suffix), path, known); err != nil {
			return nil, err
		}
	}
	if err := c.compileTools(compiler, known); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Contract) compile(compiler *jsonschema.Compiler, name, path string, known map[*jsonschema.Schema]*plain) error {
	whole, err := compiler.Compile(Base + path)
	if err != nil {
		return fmt.Errorf("compile schema %s: %w", path, err)
	}
	c.schemas[name] = schema{whole, plainOf(whole, known)}
	return nil
}

func addAll(compiler *jsonschema.Compiler) (paths []string, err error) {
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := files.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		doc, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			return fmt.Errorf("read schema %s: %w", path, err)
		}
		paths = append(paths, path)
		return compiler.AddResource(Base+path, doc)
	})
	return paths, err
}

// offline refuses to load: whatever isn't embedded isn't there.
type offline struct{}

func (offline) Load(url string) (any, error) {
	return nil, fmt.Errorf("load %s: not among the embedded schemas", url)
}

// Check judges the data of one event, in the form in which it stands on the wire.
func (c *Contract) Check(t events.Type, data []byte) error {
	return c.check("events/"+string(t), data)
}

// CheckCommit judges a commit's stored body: the envelope, then the data of each event.
func (c *Contract) CheckCommit(body []byte) error {
	if err := c.check("events/envelope", body); err != nil {
		return err
	}
	var batch []struct {
		Type events.Type     `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &batch); err != nil {
		return refuse("events/envelope", Violation{Code: codeJSON, Detail: "is not a JSON document"})
	}
	for i, e := range batch {
		if err := c.Check(e.Type, e.Data); err != nil {
			return below(err, fmt.Sprintf("/%d/data", i))
		}
	}
	return nil
}

// CheckClaim judges what a producer claims: the data of a CloudEvents message.
func (c *Contract) CheckClaim(data []byte) error {
	return c.check("claims/iris.memory.proposed.v1", data)
}

// CheckClaimMessage judges the CloudEvents message that a producer publishes, its data included.
func (c *Contract) CheckClaimMessage(message []byte) error {
	return c.check("claims/envelope", message)
}

// CheckSealed judges what was inside a claim's seal.
func (c *Contract) CheckSealed(data []byte) error {
	return c.check("claims/sealed", data)
}

// CheckOutcome judges the CloudEvents message that tells a producer what became of its claim.
func (c *Contract) CheckOutcome(message []byte) error {
	return c.check("outcomes/iris.claim.settled.v1", message)
}

// CheckReceipt judges what a member is given for an answer to a consent question.
func (c *Contract) CheckReceipt(receipt []byte) error {
	return c.check("receipts/consent-receipt.v1", receipt)
}

// CheckRequest judges the body of a request by the name of its schema in api/.
func (c *Contract) CheckRequest(name string, body []byte) error {
	return c.check("api/"+name, body)
}

func (c *Contract) check(name string, data []byte) error {
	s, ok := c.schemas[name]
	if !ok {
		return refuse("", Violation{Code: codeUnknownSchema, Detail: "no schema of this name"})
	}
	j := c.judges.Get().(*judge)
	accepted := j.accepts(s.plain, data)
	c.judges.Put(j)
	if accepted {
		return nil
	}
	return s.validate(name, data)
}

// validate says what plain may not know, and what is wrong.
func (s schema) validate(name string, data []byte) error {
	var doc any
	if err := jsonv2.Unmarshal(data, &doc); err != nil { // twice as fast as encoding/json, and refuses duplicate keys
		return refuse(name, Violation{Code: codeJSON, Detail: "is not a JSON document"})
	}
	err := s.whole.Validate(doc)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return fmt.Errorf("judge by schema %s: %w", name, err)
	}
	return refuse(name, violations(invalid)...)
}
