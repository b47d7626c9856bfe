// Package leg runs one experiment in a process of its own, in namespaces of its own:
// an [Order] goes in, a [lab.Proxy] comes out. When that process ends, however it ends,
// everything that it started is gone.
//
// Both ends of the pipe are here: [Start] is the parent's, [Serve] the child's. They
// speak lines of JSON. The order goes to the leg, which says when it is ready; after the
// parent's word to go, given to all legs of a run at one time, it says its result.
package leg

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/experiment"
)

// Order is what a leg is to do.
type Order struct {
	Plan experiment.Plan `json:"plan"`
	// Kind is the name of the proxy's description: "haproxy-runtime".
	Kind string `json:"kind"`
	// Program and Gatehouse are the paths of the proxy's program and of this binary.
	Program    string `json:"program"`
	Gatehouse  string `json:"gatehouse"`
	RetriesOff bool   `json:"retriesOff,omitempty"`
	// Verbose sends what the programs write to the standard error of the leg.
	Verbose bool `json:"verbose,omitempty"`
}

// said is one line of a leg.
type said struct {
	Ready  bool       `json:"ready,omitempty"`
	Result *lab.Proxy `json:"result,omitempty"`
}

// goAhead is the line that lets a leg begin.
const goAhead = "go"

const (
	// readyTimeout bounds how long a leg may take until its proxy can be observed.
	readyTimeout = time.Minute
	// stopTimeout bounds the orderly end of a proxy; the namespace ends what is left.
	stopTimeout = 5 * time.Second
	// slack is how much longer than its run a leg may take to sum up.
	slack = 30 * time.Second
)
