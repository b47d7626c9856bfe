package explain

import (
	"context"
	"time"
)

// Uses knows how Proxies are probed and leased.
type Uses interface {
	// Fill sets Offer, Use, UseErr and Probe of each, as far as they are known here, and
	// returns what is true of them all. It is called once for a question, about one Proxy
	// or about the whole fleet; Proxy may be nil in some. The slice is the callee's to
	// write to until it returns.
	Fill(ctx context.Context, proxies []Known) Leasing
}

// Leasing is what is true of all probes and leases of a fleet. Its JSON form is a stable
// contract.
type Leasing struct {
	// Store is where leases are kept, for people and without secrets: "memory", "redis at
	// 127.0.0.1:6379". It is empty where nothing is leased.
	Store string `json:"store,omitempty"`
	// Error says in one line why the store cannot be asked, or why this process may not;
	// empty when it can.
	Error string `json:"error,omitempty"`
	// SuspendedSince is since when no verdict turns bad, because too many probes fail at
	// once; nil when verdicts are not suspended.
	SuspendedSince *time.Time `json:"suspendedSince,omitempty"`
	// Requests are counted since this process began; nil where nobody counts.
	Requests *Requests `json:"requests,omitempty"`
}

// Requests counts the answers to those who asked for a lease.
type Requests struct {
	Granted uint64 `json:"granted"`
	// Refused are those that no proxy could be found for.
	Refused uint64 `json:"refused"`
	// Failed are all others: of bad requests, and of a store that was not there.
	Failed uint64 `json:"failed"`
}

// Probe is how a Proxy is probed, and what the last probe found.
type Probe struct {
	// URL is asked through the proxy; empty when a probe only connects.
	URL string
	// Interval is between the beginnings of probes, while nothing is in doubt.
	Interval time.Duration
	// SuccessThreshold and FailureThreshold are how many in a row flip the verdict.
	SuccessThreshold, FailureThreshold int

	// Class is of the last result, as [health.Class] has it: ok, dial, auth_failed,
	// connect_status, tls, timeout, bad_status, broken, wrong_egress; empty before the
	// first. Message is one line, empty when ok.
	Class, Message string
	// Latency of the last result, if it was ok.
	Latency time.Duration
	// At is when the last probe ended.
	At time.Time
	// InRow is how many results in a row were ok, or were not, the last one included.
	InRow int
	// Next is when the next probe begins; zero while one is under way.
	Next time.Time
	// Suspended is since when verdicts are held because too many fail at once; zero when
	// they are not.
	Suspended time.Time
}

// ok says whether the last probe succeeded.
func (p *Probe) ok() bool { return p.Class == "ok" }

// failing says whether the last probe failed.
func (p *Probe) failing() bool { return p.Class != "" && p.Class != "ok" }
