package lab

// Result is what one run of a script found, of all its proxies. Its JSON is the
// output of "gatehouse lab propagation -o json".
type Result struct {
	// Version is ResultVersion.
	Version  int      `json:"version"`
	Timeline Timeline `json:"timeline"`
	// Settle is how long after an event the step table looks at what is believed; 0
	// looks right after it, as models allow.
	Settle  Moment  `json:"settle"`
	Load    Load    `json:"load"`
	Machine Machine `json:"machine"`
	Proxies []Proxy `json:"proxies"` // in the order asked for
}

// ResultVersion counts the incompatible changes of Result's JSON.
const ResultVersion = 1

// Load is what the clients of every real proxy do.
type Load struct {
	Rate    int    `json:"rate"`    // requests per second, open loop; 0 for models only
	Timeout Moment `json:"timeout"` // after which a client gives up
}

// Machine is where a run took place.
type Machine struct {
	Started string `json:"started"` // RFC 3339
	System  string `json:"system"`  // for example "Linux 6.1.0 amd64"
	CPUs    int    `json:"cpus"`
	Memory  int64  `json:"memory"` // bytes
	Command string `json:"command"`
}

// Model is how a proxy learns of changes.
type Model string

// The models.
const (
	ModelStream Model = "stream" // each change by itself
	ModelReload Model = "reload" // all changes so far, at a reload
	ModelDNS    Model = "dns"    // when what it has is older than its TTL
)

// Proxy is what one proxy believed during a run, and what that cost.
type Proxy struct {
	// Name is as asked for: "model:reload:interval=2s", "nginx", "nginx:retries=off".
	Name  string `json:"name"`
	Model Model  `json:"model"`
	// Program names the real program with its version, "nginx 1.22.1"; empty for models.
	Program string `json:"program,omitempty"`
	// How says in a few words how it is fed and what its retries are.
	How string `json:"how,omitempty"`
	// Skipped says why it did not run, and the remedy; the rest is then empty.
	Skipped string `json:"skipped,omitempty"`
	// Failed says what ended it before the run was over.
	Failed string `json:"failed,omitempty"`

	// Truth is when each backend was routable, as this proxy's own backends came and
	// went. Real backends take moments to start.
	Truth []BackendSpan `json:"truth"`
	// Serving is when each backend answered; after its truth ends it may serve on for
	// its grace. Empty for models.
	Serving []BackendSpan `json:"serving,omitempty"`
	Belief  []BackendSpan `json:"belief"`
	Wrong   Wrong         `json:"wrong"`
	// Resolution is how well the moments of Belief are known: while a change was on its
	// way, the time from a question to the end of the next answer. A belief is dated when
	// its answer ended, so it began no later than that, and no earlier by more than this.
	// What changes without being told, as when an old worker ends, is known to 50 ms.
	// Zero for models, which are exact.
	Resolution Quantiles `json:"resolution,omitzero"`

	Requests *Requests `json:"requests,omitempty"` // nil for models
	Cost     *Cost     `json:"cost,omitempty"`     // nil for models
	// Reloads or updates that the proxy was given.
	Updates int `json:"updates"`
}

// Wrong is how a belief differed from the truth.
type Wrong struct {
	// Windows are the stretches in which belief and truth differed, in order.
	Windows []Span `json:"windows"`
	// Missing: routable, but not believed by all. Stale: believed by some, but not routable.
	Missing []BackendSpan `json:"missing"`
	Stale   []BackendSpan `json:"stale"`
	// The integrals over time of how many backends were missing or stale.
	MissingSeconds float64 `json:"missingSeconds"`
	StaleSeconds   float64 `json:"staleSeconds"`
}

// Outcome is how a request ended.
type Outcome string

// The outcomes, as the client sees them.
const (
	Answered Outcome = "answered" // by a backend
	Status   Outcome = "status"   // by the proxy itself, with an error status
	Refused  Outcome = "refused"  // no connection to the proxy
	Reset    Outcome = "reset"    // the connection broke before the answer was whole
	TimedOut Outcome = "timeout"  // nothing until the client gave up
	Unsent   Outcome = "unsent"   // too many were waiting already: counted, never sent
)

// Request is one request of the load.
type Request struct {
	ID  uint64 `json:"id"` // from 1, in order of Due
	Due Moment `json:"due"`
	// Sent is when it went out. Sent minus Due is what the generator was late.
	Sent Moment `json:"sent"`
	// Done minus Due is the latency: it counts the time that a request waited to be sent.
	Done    Moment  `json:"done"`
	Outcome Outcome `json:"outcome"`
	Code    int     `json:"code,omitempty"` // HTTP status
	// Backend is the name of the backend that answered.
	Backend string `json:"backend,omitempty"`
	// Attempts is how many backends the proxy tried, by its own log; 0 when unknown.
	Attempts int `json:"attempts,omitempty"`
}

// TryInVain is one try of a proxy to reach a backend in vain, as seen at the address: a
// connection that was refused or never answered, or data that a dead connection took.
type TryInVain struct {
	At      Moment `json:"at"`
	Backend string `json:"backend"`
	// Refused: the address said no. Otherwise it said nothing.
	Refused bool `json:"refused"`
}

// Requests is the account of all requests. Due = Answered + AnsweredByRemoved +
// Failed + NoBackend + Unsent: each request is in exactly one of them.
type Requests struct {
	Due      int `json:"due"`      // how many there were in all
	Answered int `json:"answered"` // by a backend that was routable at some time between Due and Done
	// AnsweredByRemoved: by a backend that was not routable any more, but still served.
	AnsweredByRemoved int `json:"answeredByRemoved"`
	Failed            int `json:"failed"` // although some backend was routable
	// NoBackend: failed while no backend was routable, as it must.
	NoBackend int `json:"noBackend"`
	Unsent    int `json:"unsent"`
	// FailedBy splits Failed by what the client saw.
	FailedBy map[Outcome]int `json:"failedBy"`
	// RetriedAway: answered, but only after the proxy had tried another backend in vain.
	RetriedAway int `json:"retriedAway"`
	// InVain counts the tries in vain. A request may cost several, or none if it found
	// a live backend first.
	InVain int `json:"inVain"`
	// Latency of the answered ones, Answered or AnsweredByRemoved.
	Latency Quantiles `json:"latency"`
	// Lateness is how late requests went out: whether the generator kept up.
	Lateness Quantiles `json:"lateness"`
	// Failures are the requests counted in Failed, in order of Due; at most MaxFailures.
	Failures []Request `json:"failures"`
	// TriesInVain are those counted in InVain, in order; at most MaxFailures.
	TriesInVain []TryInVain `json:"triesInVain"`
}

// MaxFailures bounds how many failures a result lists; the counts are complete.
const MaxFailures = 5000

// Quantiles of a set of durations; zero for an empty set.
type Quantiles struct {
	P50 Moment `json:"p50"`
	P99 Moment `json:"p99"`
	Max Moment `json:"max"`
}

// Cost is what a proxy, and what feeds it, spent. CPU is in seconds, Memory in bytes.
type Cost struct {
	CPU float64 `json:"cpu"` // of the whole run, its load included
	// Propagation is the CPU above the calm rate while changes were on their way.
	Propagation float64 `json:"propagation"`
	// Memory is the most that was resident at once, of readings 50 ms apart while changes
	// were on their way. Old workers are included, what processes share counts once.
	Memory int64 `json:"memory"`
}
