package verdict

// Reasons that the compiler gives for routes.
var (
	Attached = Reason{
		Name: "Attached", Class: InfoClass, Meaning: "The route is attached to a listener and serves there.",
	}
	ParentNotFound = Reason{
		Name: "ParentNotFound", Class: OutcomeClass,
		Meaning: "The Gateway or ListenerSet that a parentRef names does not exist, or no Gateway is a default one; no status can be written for it.",
		Remedy:  "Create it, or correct the parentRef's name and namespace; or set spec.defaultScope of a Gateway.",
	}
	UnsupportedParent = Reason{
		Name: "UnsupportedParent", Class: OutcomeClass,
		Meaning: "A parentRef names a kind that a route or a ListenerSet cannot attach to here.",
		Remedy:  "Refer to a Gateway, or from a route to a ListenerSet.",
	}
	NoMatchingParent = Reason{
		Name: "NoMatchingParent", Class: OutcomeClass,
		Meaning: "The Gateway or the ListenerSet itself has no listener with the sectionName and port that the parentRef asks for, or the ListenerSet is not accepted.",
		Remedy:  "Correct sectionName and port, or leave them out to attach to every listener; run 'gatehouse why' on a ListenerSet that is not accepted.",
	}
	NotAllowedByListeners = Reason{
		Name: "NotAllowedByListeners", Class: OutcomeClass,
		Meaning: "No listener that the parentRef selects allows routes of this kind from this namespace.",
		Remedy:  "Change allowedRoutes of the listener, or move the route.",
	}
	NoMatchingListenerHostname = Reason{
		Name: "NoMatchingListenerHostname", Class: OutcomeClass,
		Meaning: "The route and the listeners that it may attach to have no host name in common.",
		Remedy:  "Give the route a host name that the listener's covers.",
	}
	ParentNotServing = Reason{
		Name: "ParentNotServing", Class: OutcomeClass,
		Meaning: "The route is attached to a listener that does not serve at present.",
		Remedy:  "Run 'gatehouse why' on the Gateway or ListenerSet that has the listener.",
	}
	ListenerIsolation = Reason{
		Name: "ListenerIsolation", Class: OutcomeClass,
		Meaning: "Requests for a host name belong to another listener of the port, with a more specific host name, that the route is not attached to.",
		Remedy:  "Attach the route to that listener as well.",
	}
	Shadowed = Reason{
		Name: "Shadowed", Class: OutcomeClass,
		Meaning: "A rule can never match: an equal match of another rule goes before it.",
		Remedy:  "Remove one of the two, or make its match more specific.",
	}
	Conflicted = Reason{
		Name: "Conflicted", Class: OutcomeClass,
		Meaning: "Another route has the listener, or the server name of it, which can have only one: the one with the more specific host name, then the older. The route is accepted, and has no effect there. Of policies for one target the oldest counts.",
		Remedy:  "Give the route a listener or a host name of its own; keep one policy for a target.",
	}
	UnsupportedValue = Reason{
		Name: "UnsupportedValue", Class: FailureClass,
		Meaning: "A field has a value that cannot be served. A rule with one is dropped; an object with nothing else is rejected.",
		Remedy:  "Change the value that the message names.",
	}
	IncompatibleFilters = Reason{
		Name: "IncompatibleFilters", Class: OutcomeClass,
		Meaning: "A rule combines filters, or a filter and matches, that exclude each other; the rule is dropped.",
		Remedy:  "Split the rule.",
	}
	BackendNotFound = Reason{
		Name: "BackendNotFound", Class: OutcomeClass,
		Meaning: "A backend or its port does not exist; its share of the requests answers 500.",
		Remedy:  "Create the backend, or correct the name and port.",
	}
	InvalidKind = Reason{
		Name: "InvalidKind", Class: OutcomeClass,
		Meaning: "A reference names a kind that cannot be used there; what depends on it answers 500.",
		Remedy:  "Refer to a kind that is known there: as a backend a Service, a ServiceImport or, with features.xbackend, an XBackend; as a filter none yet.",
	}
	RefNotPermitted = Reason{
		Name: "RefNotPermitted", Class: OutcomeClass,
		Meaning: "A reference crosses namespaces and no ReferenceGrant there permits it.",
		Remedy:  "Add a ReferenceGrant in the namespace that is referred to.",
	}
	NoBackends = Reason{
		Name: "NoBackends", Class: OutcomeClass,
		Meaning: "A rule has no backend with a weight above 0; its requests answer 500.",
		Remedy:  "Give the rule a backend, or a redirect.",
	}
)

// routeReasons are those of this file.
var routeReasons = []Reason{
	Attached, ParentNotFound, UnsupportedParent, NoMatchingParent, NotAllowedByListeners,
	NoMatchingListenerHostname, ParentNotServing, ListenerIsolation, Shadowed, Conflicted,
	UnsupportedValue, IncompatibleFilters, BackendNotFound, InvalidKind, RefNotPermitted, NoBackends,
}
