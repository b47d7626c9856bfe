package verdict

// Reasons that the compiler gives for objects of any kind.
var (
	Referenced = Reason{
		Name: "Referenced", Class: InfoClass, Meaning: "Something that serves uses the object.",
	}
	NotReferenced = Reason{
		Name: "NotReferenced", Class: OutcomeClass,
		Meaning: "Nothing that serves uses the object.",
		Remedy:  "Refer to it, or look at why what refers to it does not serve.",
	}
	Redundant = Reason{
		Name: "Redundant", Class: InfoClass,
		Meaning: "The object permits what another object permits as well, or asks for what is so without it; without it nothing would change.",
	}
	NoReadyEndpoints = Reason{
		Name: "NoReadyEndpoints", Class: OutcomeClass,
		Meaning: "No endpoint of the slice is ready for a port that is used, or each is listed elsewhere too; or no Service selects by the labels of an XBackend.",
		Remedy:  "Check the port names and selector of the Service, and the endpoints' conditions.",
	}
	NoEffect = Reason{
		Name: "NoEffect", Class: OutcomeClass,
		Meaning: "A field asks for something that proxies do not have, or that another field decides. The rest of the object serves.",
		Remedy:  "Do as the message says, or leave the field out.",
	}
	TargetNotFound = Reason{
		Name: "TargetNotFound", Class: OutcomeClass,
		Meaning: "What a policy is for does not exist.",
		Remedy:  "Create it, or correct targetRefs.",
	}
	OutOfScope = Reason{
		Name: "OutOfScope", Class: OutcomeClass,
		Meaning: "The kind configures something that Gatehouse is not.",
		Remedy:  "Use a product made for it.",
	}
	FeatureDisabled = Reason{
		Name: "FeatureDisabled", Class: OutcomeClass,
		Meaning: "A switch of the static configuration that opens the object's kind is off.",
		Remedy:  "Turn on the switch that the message names and restart.",
	}
)

// objectReasons are those of this file.
var objectReasons = []Reason{
	Referenced, NotReferenced, Redundant, NoReadyEndpoints, NoEffect, TargetNotFound, OutOfScope, FeatureDisabled,
}
