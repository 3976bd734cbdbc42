package identity

import (
	"log/slog"
	"slices"
)

// Principal is a verified caller. Its subjects are personal: they identify
// people at their provider, so printing or logging a Principal leaves them out.
type Principal struct {
	Issuer string
	// Subject is "sub": the person, or with a delegate the one acted for.
	Subject string
	// ActorSubject is "act.sub", the delegate who acts (RFC 8693), or "".
	ActorSubject string
	Client       string
	Organisation string
	// Tenant is nil for a consumer.
	Tenant *string
	// Permissions are the known ones, sorted. Ask Has, which knows versions.
	Permissions    []Permission
	PersonaVersion int
}

// MemberSubject is the subject whose memory every call concerns: the delegate if
// there is one, never the person acted for (spec 9.5).
func (p Principal) MemberSubject() string {
	if p.ActorSubject != "" {
		return p.ActorSubject
	}
	return p.Subject
}

// OnBehalfOf is the subject acted for, or "" without a delegate.
func (p Principal) OnBehalfOf() string {
	if p.ActorSubject == "" {
		return ""
	}
	return p.Subject
}

// Has reports whether the token grants the permission. Role memory counts only
// from PERSONA_VERSION 4.
func (p Principal) Has(permission Permission) bool {
	switch permission {
	case RoleMemoryRead, RoleMemoryManage:
		if p.PersonaVersion < roleMemoryPersona {
			return false
		}
	}
	return slices.Contains(p.Permissions, permission)
}

func (p Principal) String() string {
	return "principal(organisation " + p.Organisation + ", client " + p.Client + ")"
}

func (p Principal) GoString() string { return p.String() }

func (p Principal) LogValue() slog.Value {
	return slog.GroupValue(slog.String("organisation", p.Organisation), slog.String("client", p.Client))
}
