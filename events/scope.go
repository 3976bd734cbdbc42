package events

import "strings"

// ScopeKind is one of the eight canonical scopes (spec 1.3, given).
type ScopeKind string

const (
	ScopeProfile         ScopeKind = "profile"
	ScopeSession         ScopeKind = "session"
	ScopeScene           ScopeKind = "scene"
	ScopePose            ScopeKind = "pose"
	ScopeNotebook        ScopeKind = "notebook"
	ScopeCrisis          ScopeKind = "crisis"
	ScopeOperatorCopilot ScopeKind = "operator-copilot"
	ScopeTenant          ScopeKind = "tenant"
)

// Scope is the tagged union of spec 1.3. Which ids are set follows from Kind; the member's own id is never among them, the
// credential or the aggregate fills it. Scope ids are personal labels: in clear they stand in the member's own answers only.
type Scope struct {
	Kind       ScopeKind `json:"kind"`
	SessionID  string    `json:"sessionId,omitempty"`
	SceneID    string    `json:"sceneId,omitempty"`
	PoseID     string    `json:"poseId,omitempty"`
	NotebookID string    `json:"notebookId,omitempty"`
	CrisisID   string    `json:"crisisId,omitempty"`
	OperatorID string    `json:"operatorId,omitempty"`
	CaseID     string    `json:"caseId,omitempty"`
	TenantID   string    `json:"tenantId,omitempty"`
}

// ids returns the scope's own ids in the order in which its key writes them.
func (s Scope) ids() []string {
	switch s.Kind {
	case ScopeProfile:
		return nil
	case ScopeSession:
		return []string{s.SessionID}
	case ScopeScene:
		return []string{s.SessionID, s.SceneID}
	case ScopePose:
		return []string{s.SessionID, s.SceneID, s.PoseID}
	case ScopeNotebook:
		return []string{s.NotebookID}
	case ScopeCrisis:
		return []string{s.CrisisID}
	case ScopeOperatorCopilot:
		return []string{s.OperatorID, s.CaseID}
	case ScopeTenant:
		return []string{s.TenantID}
	}
	return nil
}

// Valid reports whether the kind is known, each of its ids is set and no foreign one is.
func (s Scope) Valid() bool {
	clean := Scope{Kind: s.Kind}
	switch s.Kind {
	case ScopeProfile:
	case ScopeSession:
		clean.SessionID = s.SessionID
	case ScopeScene:
		clean.SessionID, clean.SceneID = s.SessionID, s.SceneID
	case ScopePose:
		clean.SessionID, clean.SceneID, clean.PoseID = s.SessionID, s.SceneID, s.PoseID
	case ScopeNotebook:
		clean.NotebookID = s.NotebookID
	case ScopeCrisis:
		clean.CrisisID = s.CrisisID
	case ScopeOperatorCopilot:
		clean.OperatorID, clean.CaseID = s.OperatorID, s.CaseID
	case ScopeTenant:
		clean.TenantID = s.TenantID
	default:
		return false
	}
	for _, id := range clean.ids() {
		if id == "" {
			return false
		}
	}
	return clean == s
}

// Key writes the scope as kind:id/id…, with the member's id first where the union has a userId (spec 1.3).
func (s Scope) Key(member ID) string {
	ids := s.ids()
	if s.Kind != ScopeOperatorCopilot && s.Kind != ScopeTenant {
		ids = append([]string{string(member)}, ids...)
	}
	return string(s.Kind) + ":" + strings.Join(ids, "/")
}

// AdapterScope is the other view of scope, by which governance, retention, consents and consumers go (spec 1.3, given).
// A domain scope is written domain:<consumer>.
type AdapterScope string

const (
	AdapterAssistantProfile AdapterScope = "assistant_profile"
	AdapterSession          AdapterScope = "session"
	AdapterScene            AdapterScope = "scene"
	AdapterPose             AdapterScope = "pose"
	AdapterConversation     AdapterScope = "conversation"
	AdapterDomain           AdapterScope = "domain"
	AdapterCrossDomain      AdapterScope = "cross_domain"
	AdapterNotebook         AdapterScope = "notebook"
	AdapterOperatorCopilot  AdapterScope = "operator_copilot"
	AdapterTenant           AdapterScope = "tenant"
	AdapterAdminReview      AdapterScope = "admin_review"
)

// Split separates domain:<consumer> into its row and the consumer it names; every other scope names none.
func (a AdapterScope) Split() (row AdapterScope, consumer Consumer) {
	if rest, ok := strings.CutPrefix(string(a), "domain:"); ok {
		return AdapterDomain, Consumer(rest)
	}
	return a, ""
}

// Kind is the canonical scope kind that the adapter scope is a view of; empty for an unknown one.
func (a AdapterScope) Kind() ScopeKind {
	row, consumer := a.Split()
	switch row {
	case AdapterAssistantProfile, AdapterCrossDomain:
		return ScopeProfile
	case AdapterDomain:
		if !consumer.MemberSurface() {
			return ""
		}
		return ScopeProfile
	case AdapterSession, AdapterConversation:
		return ScopeSession
	case AdapterScene:
		return ScopeScene
	case AdapterPose:
		return ScopePose
	case AdapterNotebook:
		return ScopeNotebook
	case AdapterOperatorCopilot, AdapterAdminReview:
		return ScopeOperatorCopilot
	case AdapterTenant:
		return ScopeTenant
	}
	return ""
}

// Fits reports whether a is a view of scope kind k. A crisis scope takes the row of session (spec 1.3, chosen).
func (a AdapterScope) Fits(k ScopeKind) bool {
	if k == ScopeCrisis {
		return a == AdapterSession
	}
	return a.Kind() == k
}

// DefaultAdapterScope is the adapter scope of an entry or request that names none (spec 1.3).
func DefaultAdapterScope(k ScopeKind) AdapterScope {
	switch k {
	case ScopeProfile:
		return AdapterAssistantProfile
	case ScopeSession, ScopeCrisis:
		return AdapterSession
	case ScopeScene:
		return AdapterScene
	case ScopePose:
		return AdapterPose
	case ScopeNotebook:
		return AdapterNotebook
	case ScopeOperatorCopilot:
		return AdapterOperatorCopilot
	case ScopeTenant:
		return AdapterTenant
	}
	return ""
}

// Namespace writes org/{org}/program/{program}/user/{user} (individual) or org/{org}/user/{user} (person) (spec 1.2).
func Namespace(org string, tier Tier, program string, member ID) string {
	if tier == TierPerson {
		return "org/" + org + "/user/" + string(member)
	}
	return "org/" + org + "/program/" + program + "/user/" + string(member)
}
