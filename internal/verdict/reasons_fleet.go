package verdict

// Reasons of the fleet: what became of a Proxy and its instance. Those that are also
// reasons of a Proxy's conditions have the same name.
var (
	NothingAsked = Reason{
		Name: "NothingAsked", Class: InfoClass, Meaning: "The provider has not been asked for an instance yet.",
	}
	Provisioning = Reason{
		Name: "Provisioning", Class: InfoClass, Meaning: "The provider has accepted the instance, which does not run yet.",
	}
	Created = Reason{
		Name: "Created", Class: InfoClass, Meaning: "The instance runs.",
	}
	ExternalEndpoint = Reason{
		Name: "ExternalEndpoint", Class: InfoClass, Meaning: "Somebody else runs the proxy; nothing is created for it.",
	}
	MadeAsWanted = Reason{
		Name: "MadeAsWanted", Class: InfoClass, Meaning: "The instance was made from the spec, user data and credentials as they are now.",
	}
	Replacing = Reason{
		Name: "Replacing", Class: InfoClass, Meaning: "What the instance is made from has changed, or it is too old or broken: it goes, for a new one.",
	}
	WaitingForBudget = Reason{
		Name: "WaitingForBudget", Class: OutcomeClass,
		Meaning: "The instance is to be replaced, and waits because enough others are being replaced.",
		Remedy:  "Wait, or let more go at once with --max-unavailable.",
	}
	Draining = Reason{
		Name: "Draining", Class: InfoClass, Meaning: "The instance is to go, and waits for leases to end.",
	}
	Deleting = Reason{
		Name: "Deleting", Class: InfoClass, Meaning: "The Proxy is being deleted, and waits for its instance to be gone.",
	}
	DeletionBlocked = Reason{
		Name: "DeletionBlocked", Class: FailureClass,
		Meaning: "The instance cannot be deleted, so that the Proxy stays.",
		Remedy:  "Mend that, or delete the instance by hand and annotate the Proxy with egress.gatehouse.dev/abandon: \"true\".",
	}
	CloudInitError = Reason{
		Name: "CloudInitError", Class: FailureClass,
		Meaning: "User data or credentials cannot be read, so that no instance is made or replaced.",
		Remedy:  "Create or correct the Secret that the message names.",
	}
	QuotaExceeded = Reason{
		Name: "QuotaExceeded", Class: OutcomeClass,
		Meaning: "The provider's limit is reached, or it has no such machine left; tried again every few minutes.",
		Remedy:  "Raise the limit, or choose another zone or machine type.",
	}
	PermanentError = Reason{
		Name: "PermanentError", Class: FailureClass,
		Meaning: "The provider refuses what the spec asks for; it is not asked again.",
		Remedy:  "Change the spec, or, once the cause is removed, the annotation egress.gatehouse.dev/retry.",
	}
	TransientError = Reason{
		Name: "TransientError", Class: OutcomeClass,
		Meaning: "A step failed; it is tried again with growing pauses.",
		Remedy:  "Nothing, unless it stays: then mend what the message names.",
	}
	ProvisioningTimeout = Reason{
		Name: "ProvisioningTimeout", Class: OutcomeClass,
		Meaning: "The instance did not run in time, and is made anew.",
		Remedy:  "Look at why it does not start: the image, the network, or user data. Or raise spec.lifecycle.provisioningTimeout.",
	}
	ProviderOff = Reason{
		Name: "ProviderOff", Class: FailureClass,
		Meaning: "The provider that the spec names is not turned on here.",
		Remedy:  "Start the fleet with it in --providers.",
	}
	ProbeOK = Reason{
		Name: "ProbeOK", Class: InfoClass, Meaning: "Probes through the proxy succeed.",
	}
	ProbeFailed = Reason{
		Name: "ProbeFailed", Class: OutcomeClass,
		Meaning: "Probes through the proxy fail.",
		Remedy:  "Look at the instance, and at whether the probe's target answers.",
	}
	AuthFailed = Reason{
		Name: "AuthFailed", Class: OutcomeClass,
		Meaning: "The proxy refuses the credentials.",
		Remedy:  "Correct the Secret of spec.auth.",
	}
	BadStatus = Reason{
		Name: "BadStatus", Class: OutcomeClass,
		Meaning: "Probes through the proxy get an unexpected answer.",
		Remedy:  "Look at whether the probe's target answers as expected.",
	}
	WrongEgress = Reason{
		Name: "WrongEgress", Class: OutcomeClass,
		Meaning: "The probe's target sees another address than the proxy's.",
		Remedy:  "Look at how the proxy's connections leave, and at whether healthCheck.url answers with nothing but the address that it sees. If the new address is right, turn healthCheck.verifyEgressIP off and on again.",
	}
	LooksAgain = Reason{
		Name: "LooksAgain", Class: InfoClass, Meaning: "When the next step is due.",
	}
	DeletionHeld = Reason{
		Name: "DeletionHeld", Class: OutcomeClass,
		Meaning: "No document defines the Proxy any more, but neither does one define most others, or the directory is empty: that may be a fault, so nothing is deleted.",
		Remedy:  "Put the documents back, or start with --allow-mass-delete. For a directory without any document, put an empty file there too.",
	}
	Leaving = Reason{
		Name: "Leaving", Class: OutcomeClass,
		Meaning: "A Proxy of the same name is still being deleted.",
		Remedy:  "Wait until it is gone; the document then has its effect by itself.",
	}
	InstanceAbandoned = Reason{
		Name: "InstanceAbandoned", Class: OutcomeClass,
		Meaning: "The document has the annotation that lets a Proxy go without its instance, and there is no such Proxy.",
		Remedy:  "Remove the document, or the annotation to have the Proxy created.",
	}
)

// FleetReasons are those of a fleet, its leases included: none of a gateway. It must not
// be changed.
var FleetReasons = append([]Reason{
	NothingAsked, Provisioning, Created, ExternalEndpoint, MadeAsWanted, Replacing, WaitingForBudget, Draining,
	Deleting, DeletionBlocked, CloudInitError, QuotaExceeded, PermanentError, TransientError, ProvisioningTimeout,
	ProviderOff, ProbeOK, ProbeFailed, AuthFailed, BadStatus, WrongEgress, LooksAgain, DeletionHeld, Leaving, InstanceAbandoned,
}, leaseReasons...)
