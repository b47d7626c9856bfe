package schema

import "github.com/gatehouse-proxy/gatehouse/internal/verdict"

// Reasons for which a document is refused, in the order in which they are looked for.
var (
	InvalidSyntax = verdict.Reason{
		Name: "InvalidSyntax", Class: verdict.FailureClass,
		Meaning: "The document is neither YAML nor JSON, or uses a part of YAML that Kubernetes objects have no use for.",
		Remedy:  "Correct the line that the message names. Other documents of the file are not affected.",
	}
	LimitExceeded = verdict.Reason{
		Name: "LimitExceeded", Class: verdict.FailureClass,
		Meaning: "The file or document is larger, nests deeper, or expands to more values than is read.",
		Remedy:  "Split it, or remove the nesting or the anchors that make it large.",
	}
	NotAnObject = verdict.Reason{
		Name: "NotAnObject", Class: verdict.FailureClass,
		Meaning: "The document is no Kubernetes object: it is no mapping, or has no apiVersion, kind or metadata.name.",
		Remedy:  "Add what the message says is missing, or move the file out of the directory.",
	}
	KindNotServed = verdict.Reason{
		Name: "KindNotServed", Class: verdict.FailureClass,
		Meaning: "Gatehouse does not read this kind.",
		Remedy:  "Remove the document; nothing that is served depends on it. Check the spelling of kind and apiVersion if it was meant to be read.",
	}
	VersionNotServed = verdict.Reason{
		Name: "VersionNotServed", Class: verdict.FailureClass,
		Meaning: "Gatehouse reads this kind, but not in this version.",
		Remedy:  "Write the apiVersion that the message names.",
	}
	DuplicateField = verdict.Reason{
		Name: "DuplicateField", Class: verdict.FailureClass,
		Meaning: "A mapping has the same key twice, so that it is open which value was meant.",
		Remedy:  "Remove one of the two.",
	}
	UnknownField = verdict.Reason{
		Name: "UnknownField", Class: verdict.FailureClass,
		Meaning: "The kind has no field of this name at this place.",
		Remedy:  "Correct the spelling or the indentation, or remove the field.",
	}
	InvalidMetadata = verdict.Reason{
		Name: "InvalidMetadata", Class: verdict.FailureClass,
		Meaning: "The name, namespace, a label or an annotation breaks the rules that Kubernetes has for them.",
		Remedy:  "Change the value as the message says.",
	}
	InvalidValue = verdict.Reason{
		Name: "InvalidValue", Class: verdict.FailureClass,
		Meaning: "A value has the wrong type, is out of range, or breaks a rule of the kind's schema.",
		Remedy:  "Change the value as the message says.",
	}
	ImmutableField = verdict.Reason{
		Name: "ImmutableField", Class: verdict.FailureClass,
		Meaning: "The change breaks a rule that compares the object with its previous accepted revision.",
		Remedy:  "Undo the change; or replace the object: delete it from the file, wait until it is gone, add it again; or give the new object another name.",
	}
)

// Reasons are all reasons of this package, for the generated reference. What is
// behind a closed switch is refused with verdict.FeatureDisabled.
var Reasons = []verdict.Reason{
	InvalidSyntax, LimitExceeded, NotAnObject, KindNotServed, VersionNotServed,
	DuplicateField, UnknownField, InvalidMetadata, InvalidValue, ImmutableField,
}
