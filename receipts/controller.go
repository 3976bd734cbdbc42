package receipts

import "errors"

// Controller says who answers for a deployment and to whom what is remembered goes. It is configuration of the organisation, and no
// part of any event: a receipt asked for after it was changed shows it as it is now.
type Controller struct {
	Type         string   `json:"@type"`
	Name         string   `json:"dpv:hasName"`
	Address      string   `json:"dpv:hasAddress"`
	Contact      string   `json:"dpv:hasContact"`
	Jurisdiction string   `json:"dpv:hasJurisdiction"`
	Storage      string   `json:"-"` // where it is kept
	Retention    string   `json:"-"`
	Recipients   []string `json:"-"`
}

// WithDefaults fills what was left out: what is true of every deployment, and the organisation's own id where a name is needed.
func (c Controller) WithDefaults(organisation string) Controller {
	c.Type = "dpv:DataController"
	c.Name = or(c.Name, organisation)
	c.Address = or(c.Address, "not stated by this deployment")
	c.Contact = or(c.Contact, "the organisation's administrator")
	c.Jurisdiction = or(c.Jurisdiction, "not stated by this deployment")
	c.Storage = or(c.Storage, "this deployment's own servers")
	c.Retention = or(c.Retention, "until the member forgets it; 30 days more in which a forget can be taken back")
	if c.Recipients == nil {
		c.Recipients = []string{"the assistants of the organisation, each within its scope"}
	}
	return c
}

// Validate refuses half a controller: one that is named for others must be reachable for them.
func (c Controller) Validate() error {
	if (c.Name != "" || c.Address != "" || c.Contact != "") && (c.Name == "" || c.Contact == "" || c.Address == "") {
		return errors.New("receipts: a controller has a name, an address and a contact, or none of them")
	}
	return nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
