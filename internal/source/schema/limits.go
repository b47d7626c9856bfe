package schema

// Limits bound what one input may cost. They are far above what people write,
// and each refusal says which limit it was and its value.
const (
	// MaxFileBytes is the largest file that is read: 32 MiB.
	MaxFileBytes = 32 << 20
	// MaxDocumentBytes is the largest document: 3 MiB, what an API server takes.
	MaxDocumentBytes = 3 << 20
	// MaxDocuments is the largest number of documents in a file.
	MaxDocuments = 50_000
	// MaxDepth is how deep mappings and lists may nest.
	MaxDepth = 100
	// MaxNodes is the largest number of values in a document after its aliases
	// have been expanded.
	MaxNodes = 200_000
	// MaxProblems is how many problems of one object are reported; the last one
	// then says how many more there are.
	MaxProblems = 20
)
