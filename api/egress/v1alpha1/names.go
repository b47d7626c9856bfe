package v1alpha1

// What is written to objects and to instances beside spec and status.
const (
	// SpecHashAnnotation of a Proxy holds the hash that its instance was made from.
	SpecHashAnnotation = Group + "/spec-hash"
	// RetryAnnotation of a Proxy lifts the latch of a permanent error when its value
	// changes, whatever the value is.
	RetryAnnotation = Group + "/retry"
	// AbandonAnnotation "true" on a Proxy that is being deleted lets it go although its
	// instance could not be deleted. The instance stays and nobody owns it.
	AbandonAnnotation = Group + "/abandon"
	// InstanceFinalizer keeps a Proxy until its instance is gone.
	InstanceFinalizer = Group + "/instance"

	// UIDLabel and ClusterLabel are on every instance: the UID of its Proxy, and which
	// cluster, or which state directory, that Proxy is in.
	UIDLabel     = "proxy-operator-uid"
	ClusterLabel = "proxy-operator-cluster"
	// HashLabel is on every instance: the first 32 hexadecimal digits of the hash that
	// it was made from.
	HashLabel = "proxy-operator-hash"
)

// Types of conditions.
const (
	// Provisioned says whether the instance runs.
	Provisioned = "Provisioned"
	// Healthy is the verdict of probes through the proxy.
	Healthy = "Healthy"
	// Draining is true while a replacement or a deletion waits for leases to end.
	Draining = "Draining"
	// DeletionBlocked is true while the instance cannot be deleted, with the reason.
	DeletionBlocked = "DeletionBlocked"
)

// Reasons of the condition Provisioned.
const (
	ReasonProvisioning        = "Provisioning"        // created, not running yet
	ReasonCreated             = "Created"             // runs
	ReasonReplacing           = "Replacing"           // its instance goes, for a new one
	ReasonDeleting            = "Deleting"            // its instance goes, for good
	ReasonCloudInitError      = "CloudInitError"      // user data or credentials cannot be read
	ReasonQuotaExceeded       = "QuotaExceeded"       // the provider's limit is reached; tried again later
	ReasonPermanentError      = "PermanentError"      // refused; not tried again until spec or RetryAnnotation changes
	ReasonTransientError      = "TransientError"      // failed; tried again, with growing pauses
	ReasonProvisioningTimeout = "ProvisioningTimeout" // did not run in time; made anew
	ReasonWaitingForBudget    = "WaitingForBudget"    // drifted, while enough others are being replaced
	ReasonExternalEndpoint    = "ExternalEndpoint"    // not ours to create
)

// Reasons of the condition Healthy.
const (
	ReasonProbeOK     = "ProbeOK"
	ReasonProbeFailed = "ProbeFailed" // not reached, no TLS, no tunnel, no answer in time
	ReasonAuthFailed  = "AuthFailed"  // it refuses the credentials
	ReasonBadStatus   = "BadStatus"   // another status than expected
	ReasonWrongEgress = "WrongEgress" // the target saw another address
)

// Phase sums up the conditions in a word.
type Phase string

// Phases.
const (
	PhasePending      Phase = "Pending"      // nothing asked of the provider yet
	PhaseProvisioning Phase = "Provisioning" // asked for an instance that does not run yet
	PhaseProvisioned  Phase = "Provisioned"  // runs, without a verdict of a probe
	PhaseReady        Phase = "Ready"        // runs and is healthy
	PhaseUnhealthy    Phase = "Unhealthy"    // runs and is not
	PhaseReplacing    Phase = "Replacing"    // its instance goes, for a new one
	PhaseDeleting     Phase = "Deleting"     // its instance goes, for good
	PhaseFailed       Phase = "Failed"       // refused for good
)
