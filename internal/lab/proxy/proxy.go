// Package proxy is the contract between an experiment and a real proxy under test,
// and what the implementations share: finding programs, running them, and the names
// by which users ask for them.
//
// An implementation runs the real program the way its operators do, and reads what it
// believes from the program itself. It runs inside a namespace of its own
// (internal/lab/arena), so fixed ports on 127.0.0.1 are free; everything that it
// writes goes to Options.Dir. Every call has the deadline of its context.
package proxy

import (
	"context"
	"io"
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// ListenAddress is where every proxy under test answers, inside its namespace.
const ListenAddress = "127.0.0.1:8000"

// BackendPort is where every backend answers, at its own address.
const BackendPort = 8080

// HeaderRequest carries the decimal ID of a request from client to backend and into
// the proxy's log; so does its path, "/17". HeaderBackend comes back with the name of
// the backend that answered.
const (
	HeaderRequest = "X-Lab-Request"
	HeaderBackend = "X-Lab-Backend"
)

// Backend is one backend as proxies see it.
type Backend struct {
	Name    string
	Address netip.Addr
}

// Options are what every implementation is made from.
type Options struct {
	// Dir is an empty directory for configuration, sockets and logs; it goes away with
	// the namespace.
	Dir string
	// Program is the absolute path of the program.
	Program string
	// Gatehouse is the absolute path of this binary, for helpers that run as processes.
	Gatehouse string
	// RetriesOff switches off the retries that the program makes by default.
	RetriesOff bool
	// Log takes what the programs write, line by line.
	Log io.Writer
}

// Proxy is one real proxy. Only Belief may be called while another call runs.
type Proxy interface {
	// Start runs the program with no backend and returns once it answers requests
	// (with an error status). An error says which program failed, and how its log ends.
	Start(ctx context.Context) error
	// Update makes these the only backends, the way operators do: it hands the change
	// over and returns; when the proxy believes it is for Belief to see. The experiment
	// calls it for each change of a proxy that streams, and at each reload of one that
	// reloads. A proxy that takes single changes works out the difference itself.
	Update(ctx context.Context, backends []Backend) error
	// Belief returns what the proxy believes at this moment, asked of the proxy itself.
	// It is called every few milliseconds after a change, and must be cheap.
	Belief(ctx context.Context) (Belief, error)
	// Processes returns the roots of the process trees that serve requests and carry
	// changes; their CPU and memory is what propagation costs.
	Processes() []int
	// Attempts returns how many backends the proxy tried for each request, by its own
	// log, up to now. Nil without error means that the program keeps no such log.
	Attempts(ctx context.Context) (map[uint64]int, error)
	// Exited is closed when the program, or one that feeds it, has ended.
	Exited() <-chan struct{}
	// Ended says how it ended, with its last telling line, once Exited is closed; it is
	// nil before.
	Ended() error
	// Stop ends the program and waits for it.
	Stop(ctx context.Context) error
}

// Checks is a [Proxy] whose updates run a program to its end, as controllers check a file
// before they let it be loaded.
type Checks interface {
	// Checked is the CPU that these programs took so far.
	Checked() time.Duration
}

// Belief is what a proxy would route to.
type Belief struct {
	// All are believed by every worker that takes new requests, Some by at least one
	// that still serves; All is part of Some. Sorted by address.
	All, Some []netip.Addr
}

// Description says what a proxy is before it runs.
type Description struct {
	// Name by which users ask for it, without parameters: "haproxy-runtime".
	Name  string
	Model lab.Model
	// How says in a few words how it is fed.
	How string
	// Retries says what the program does by default with a request whose backend fails.
	Retries string
	// Program is the name of the program, and Get says how to install it.
	Program, Get string
	// New makes one; it starts nothing.
	New func(Options) Proxy
	// Find returns the absolute path of the program, or an error that says the remedy.
	Find func() (string, error)
	// Version asks the program at path for its version: "1.22.1".
	Version func(ctx context.Context, path string) (string, error)
}
