package verdict

// Verdict is the whole answer to "why": what became of one object, through
// every stage, down to the proxies. Its JSON form is a stable contract.
type Verdict struct {
	Object    Object     `json:"object"`
	State     State      `json:"state"`
	Steps     []Step     `json:"steps"`
	Resources []Resource `json:"resources"`
	Proxies   Proxies    `json:"proxies"`
}

// Object identifies the object as an API server would.
type Object struct {
	Group      string `json:"group"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
}

// Resource is one resource of the data plane that the object contributes to.
type Resource struct {
	Type string `json:"type"` // short, for example "RouteConfiguration"
	Name string `json:"name"`
}

// Proxies says how many of the proxies that need the object's resources have
// acknowledged all of them.
type Proxies struct {
	Acknowledged int       `json:"acknowledged"`
	Total        int       `json:"total"`
	Refused      []Refusal `json:"refused"`
}

// Refusal is one proxy's refusal of one resource, in the proxy's words.
type Refusal struct {
	Proxy    string   `json:"proxy"`
	Resource Resource `json:"resource"`
	Message  string   `json:"message"`
}
