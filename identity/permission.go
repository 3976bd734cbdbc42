package identity

import "slices"

// Permission is one entry of the claim "permissions" (spec 9.5).
type Permission string

const (
	AgentMemoryRead   Permission = "program.agent_memory.read"
	AgentMemoryManage Permission = "program.agent_memory.manage" // with ownership
	TwinsRead         Permission = "program.twins.read"
	RoleMemoryRead    Permission = "org.role_memory.read"   // from PERSONA_VERSION 4
	RoleMemoryManage  Permission = "org.role_memory.manage" // from PERSONA_VERSION 4
	Propose           Permission = "iris.propose"
	Recall            Permission = "iris.recall"
	RecallService     Permission = "iris.recall.service" // a service that names a member
	InspectionRequest Permission = "iris.inspection.request"
	InspectionGrant   Permission = "iris.inspection.grant"
	DataRightsOperate Permission = "iris.data_rights.operate"
	AuditRead         Permission = "iris.audit.read"
	Admin             Permission = "iris.admin"
	roleMemoryPersona            = 4
)

// AllPermissions lists every permission there is, in the order of the spec.
func AllPermissions() []Permission {
	return []Permission{
		AgentMemoryRead, AgentMemoryManage, TwinsRead, RoleMemoryRead, RoleMemoryManage, Propose, Recall, RecallService,
		InspectionRequest, InspectionGrant, DataRightsOperate, AuditRead, Admin,
	}
}

// ParsePermission accepts the names above and nothing else.
func ParsePermission(s string) (Permission, bool) {
	p := Permission(s)
	return p, slices.Contains(AllPermissions(), p)
}

// permissionSet keeps what we know. A provider may put permissions of other
// services in the same claim; they mean nothing here.
func permissionSet(claimed []string) []Permission {
	held := make([]Permission, 0, len(claimed))
	for _, name := range claimed {
		if p, known := ParsePermission(name); known {
			held = append(held, p)
		}
	}
	slices.Sort(held)
	return slices.Compact(held)
}
