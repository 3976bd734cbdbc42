package events

// What an organisation says of clients and tenants that it no longer, or not now, serves.

const (
	TypeClientRemoved     Type = "iris.client.removed.v1"
	TypeTenantDefined     Type = "iris.tenant.defined.v1"
	TypeTenantRemoved     Type = "iris.tenant.removed.v1"
	TypeTenantQuarantined Type = "iris.tenant.quarantined.v1"
	TypeTenantReleased    Type = "iris.tenant.released.v1"
)

// ClientRemoved ends what a registration began: the client acts as no consumer.
type ClientRemoved struct {
	Client string `json:"client"`
}

// The life of a tenant (spec 1.1). While it is quarantined, and after it was removed, its entries are suppressed
// (tenant-quarantine): derived, in no member's book.
type (
	TenantDefined struct {
		Tenant string `json:"tenant"`
	}
	TenantRemoved struct {
		Tenant string `json:"tenant"`
	}
	TenantQuarantined struct {
		Tenant string `json:"tenant"`
	}
	TenantReleased struct {
		Tenant string `json:"tenant"`
	}
)

func (*ClientRemoved) EventType() Type     { return TypeClientRemoved }
func (*TenantDefined) EventType() Type     { return TypeTenantDefined }
func (*TenantRemoved) EventType() Type     { return TypeTenantRemoved }
func (*TenantQuarantined) EventType() Type { return TypeTenantQuarantined }
func (*TenantReleased) EventType() Type    { return TypeTenantReleased }

func (*ClientRemoved) slots(KeyRef) []slot     { return nil }
func (*TenantDefined) slots(KeyRef) []slot     { return nil }
func (*TenantRemoved) slots(KeyRef) []slot     { return nil }
func (*TenantQuarantined) slots(KeyRef) []slot { return nil }
func (*TenantReleased) slots(KeyRef) []slot    { return nil }

func newTenant(t Type) Event {
	switch t {
	case TypeClientRemoved:
		return &ClientRemoved{}
	case TypeTenantDefined:
		return &TenantDefined{}
	case TypeTenantRemoved:
		return &TenantRemoved{}
	case TypeTenantQuarantined:
		return &TenantQuarantined{}
	case TypeTenantReleased:
		return &TenantReleased{}
	}
	return nil
}
