package file

import "github.com/gatehouse-proxy/gatehouse/internal/verdict"

// Reasons for which a file, or an object in it, is left out.
var (
	FileUnreadable = verdict.Reason{
		Name: "FileUnreadable", Class: verdict.FailureClass,
		Meaning: "A file or directory that should be read cannot be: it does not exist, is no regular file, is too large, or the system refuses.",
		Remedy:  "Do what the message says; the path is watched and is read as soon as it can be.",
	}
	DirectoryRepeated = verdict.Reason{
		Name: "DirectoryRepeated", Class: verdict.FailureClass,
		Meaning: "A link leads to a directory that is read already, perhaps to one that the link is in.",
		Remedy:  "Nothing is lost: the directory is read once. Remove the link to be rid of the message.",
	}
	DuplicateObject = verdict.Reason{
		Name: "DuplicateObject", Class: verdict.FailureClass,
		Meaning: "Several documents define the same object. The first counts: by path in byte order, then by place in the file.",
		Remedy:  "Remove all but one of the documents, or rename the objects.",
	}
)

// Reasons are all reasons of this package, for the generated reference.
var Reasons = []verdict.Reason{FileUnreadable, DirectoryRepeated, DuplicateObject}
