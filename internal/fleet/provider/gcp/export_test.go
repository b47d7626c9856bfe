package gcp

// What tests of the outside look at.
var (
	BuildInsertRequest = buildInsertRequest
	ParseID            = parseID
	Classify           = status
	OperationError     = operationError
	State              = state
	Following          = following
)

// Patience is how long refused credentials are a mistake.
const Patience = patience

// Location is where an instance is.
type Location = location

// At makes a Location.
func At(project, zone, name string) Location { return location{project, zone, name} }
