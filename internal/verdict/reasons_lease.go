package verdict

// Reasons of probes and leases of a Proxy. Those that are also reasons not to offer one
// have the same name.
var (
	Probed = Reason{
		Name: "Probed", Class: InfoClass, Meaning: "How the proxy is probed, and what the last probe found.",
	}
	VerdictsSuspended = Reason{
		Name: "VerdictsSuspended", Class: OutcomeClass,
		Meaning: "So many good proxies fail at once that the fault is likely the probe's target or the operator's own network: for five minutes at most no verdict turns bad.",
		Remedy:  "Look at whether the probe's URL answers without a proxy, and at the operator's network.",
	}
	ReplacedIfUnhealthy = Reason{
		Name: "ReplacedIfUnhealthy", Class: InfoClass, Meaning: "How long the verdict of probes may stay bad before the instance is replaced.",
	}
	Offered = Reason{
		Name: "Offered", Class: InfoClass, Meaning: "Whoever asks for a lease may get the proxy.",
	}
	NotOffered = Reason{
		Name: "NotOffered", Class: OutcomeClass,
		Meaning: "Nobody gets a new lease on the proxy.",
		Remedy:  "Mend what the message names.",
	}
	NotRunning = Reason{
		Name: "NotRunning", Class: InfoClass, Meaning: "Nobody gets a lease yet: the instance does not run, or its address is not known.",
	}
	NotProbed = Reason{
		Name: "NotProbed", Class: InfoClass, Meaning: "Nobody gets a lease yet: probes have not come to a verdict.",
	}
	CredentialsMissing = Reason{
		Name: "CredentialsMissing", Class: OutcomeClass,
		Meaning: "Nobody gets a lease: the Secret of spec.auth is missing, or has no credentials that can be used.",
		Remedy:  "Create or correct the Secret that the message names.",
	}
	Unhealthy = Reason{
		Name: "Unhealthy", Class: OutcomeClass,
		Meaning: "Nobody gets a new lease: probes fail. Leases that there are go on.",
		Remedy:  "Mend what the probe found; once probes succeed, it is offered again by itself.",
	}
	Leased = Reason{
		Name: "Leased", Class: InfoClass, Meaning: "How many leases the proxy carries, and how many it may.",
	}
	AtCapacity = Reason{
		Name: "AtCapacity", Class: InfoClass, Meaning: "The proxy carries as many leases as spec.capacity lets it; it is granted again when one ends.",
	}
	CoolingDown = Reason{
		Name: "CoolingDown", Class: InfoClass, Meaning: "After a report of a ban or a limit the proxy rests for some targets; for others it is granted.",
	}
	LeasesUnknown = Reason{
		Name: "LeasesUnknown", Class: OutcomeClass,
		Meaning: "The store of leases cannot be asked, so that nobody knows how the proxy is leased, and none is granted.",
		Remedy:  "Look at whether the store of --lease-store answers, and which process leads.",
	}
)

// leaseReasons are those of this file, in order of appearance.
var leaseReasons = []Reason{
	Probed, VerdictsSuspended, ReplacedIfUnhealthy, Offered, NotOffered, NotRunning, NotProbed, CredentialsMissing,
	Unhealthy, Leased, AtCapacity, CoolingDown, LeasesUnknown,
}
