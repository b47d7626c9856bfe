package compile

import "github.com/gatehouse-proxy/gatehouse/internal/verdict"

// Status values belong to the lower side, so that publish/status can read them.
type (
	// Status is what an object's status says without what only proxies can tell.
	Status = verdict.Status
	// ListenerStatus is the status of one listener.
	ListenerStatus = verdict.ListenerStatus
	// AncestorStatus is the status of a policy at one Gateway.
	AncestorStatus = verdict.AncestorStatus
	// ParentStatus is the status of a route at one parent.
	ParentStatus = verdict.ParentStatus
)
