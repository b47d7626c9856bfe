package verdict

// Reasons of the stages around the compiler.
var (
	Seen = Reason{
		Name: "Seen", Class: InfoClass, Meaning: "A source observed the object.",
	}
	Accepted = Reason{
		Name: "Accepted", Class: InfoClass,
		Meaning: "The observed revision passed every check and is the one in force.",
	}
	Undecided = Reason{
		Name: "Undecided", Class: InfoClass,
		Meaning: "The observed revision is being tried, or waits for a validator; what was accepted before stays in force until then.",
	}
	Compiled = Reason{
		Name: "Compiled", Class: InfoClass, Meaning: "The object contributes to the configuration.",
	}
	Translated = Reason{
		Name: "Translated", Class: InfoClass, Meaning: "Proxy resources were made from the object.",
	}
	Acknowledged = Reason{
		Name: "Acknowledged", Class: InfoClass,
		Meaning: "Every proxy that needs the object's resources has acknowledged them.",
	}
	AwaitingProxies = Reason{
		Name: "AwaitingProxies", Class: InfoClass,
		Meaning: "Some proxy has not answered yet, or none is connected.",
	}
	RefusedByProxy = Reason{
		Name: "RefusedByProxy", Class: FailureClass,
		Meaning: "A proxy refused a resource made from the object and keeps the previous one.",
		Remedy:  "The message is the proxy's own; change the field it names.",
	}
	Retained = Reason{
		Name: "Retained", Class: InfoClass,
		Meaning: "The observed revision was rejected; the previous accepted revision keeps serving.",
	}
	Narrowed = Reason{
		Name: "Narrowed", Class: FailureClass,
		Meaning: "The observed revision was rejected; the previous accepted revision keeps serving, but permits no more than the rejected one does.",
		Remedy:  "Correct what was rejected; what the object no longer permits is in force already.",
	}
	Closed = Reason{
		Name: "Closed", Class: FailureClass,
		Meaning: "The observed revision was rejected, and by rule or by --fail-mode no earlier one may serve; or the object cannot be served beside what was taken away.",
		Remedy:  "Correct what was rejected, or undo what was taken away.",
	}
	NothingRetained = Reason{
		Name: "NothingRetained", Class: InfoClass,
		Meaning: "The observed revision was rejected and none was accepted before, so nothing of the object serves.",
	}
	OutputInvalid = Reason{
		Name: "OutputInvalid", Class: FailureClass,
		Meaning: "What the object compiles to failed a check that every resource passes before it is sent.",
		Remedy:  "Change the value that the message names.",
	}
	RefusedByValidator = Reason{
		Name: "RefusedByValidator", Class: FailureClass,
		Meaning: "A validator refused the configuration that the object leads to, before any proxy got it.",
		Remedy:  "The message is the validator's own; change what it names.",
	}
	CrashesProxy = Reason{
		Name: "CrashesProxy", Class: FailureClass,
		Meaning: "The proving Envoy ended twice while it took the configuration that the object leads to, so no serving proxy gets it.",
		Remedy:  "Change the object, and report the crash with the proving Envoy's log.",
	}
	InternalError = Reason{
		Name: "InternalError", Class: FailureClass,
		Meaning: "A function of Gatehouse failed on the object. This is a bug; independent objects are served.",
		Remedy:  "Report it with the output of 'gatehouse why' and the object.",
	}
	WarmTimedOut = Reason{
		Name: "WarmTimedOut", Class: OutcomeClass,
		Meaning: "A cluster did not become ready in time; what uses it was sent anyway and may answer 503.",
		Remedy:  "Check that the backend's host name resolves and that its health check passes.",
	}
)

// stageReasons are those of this file, in order of name.
var stageReasons = []Reason{
	Accepted, Acknowledged, AwaitingProxies, Closed, Compiled, CrashesProxy, InternalError, Narrowed, NothingRetained,
	OutputInvalid, RefusedByProxy, RefusedByValidator, Retained, Seen, Translated, Undecided, WarmTimedOut,
}
