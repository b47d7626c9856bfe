// Package explain says of every Proxy what became of it and why, as a verdict: from
// the object and what its shell knows beside it. It is pure, and the same for every
// shell.
package explain

import (
	"context"
	"strings"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Shell is what runs a fleet, and is asked about it.
type Shell interface {
	// Fleet returns all that is known now, Proxies in order of namespace and name.
	Fleet(ctx context.Context) (Fleet, error)
	// Ready returns nil once the shell has seen what is wanted and works on it.
	Ready() error
}

// Fleet is all that a shell knows at one moment.
type Fleet struct {
	Proxies []Known
	// Problems are refused documents that name no Proxy here.
	Problems []Problem
	// Held says why Proxies without a document are not deleted; empty when none waits.
	Held string
	// Source is where Proxies come from, for people: "directory /etc/fleet".
	Source string
}

// Known is what is known of one Proxy: by its shell, and below Offer by [Uses].
type Known struct {
	Namespace, Name string
	// Proxy is nil while no document of it was ever accepted.
	Proxy *egress_v1alpha1.Proxy
	// Origin is where its document stands, "file:line"; empty for an API server.
	Origin string
	// Refusals say why documents of it are not in force.
	Refusals []verdict.Step
	// Missing says that no document defines it any more, and what becomes of it; empty
	// while one does.
	Missing string
	// Held: it is kept although it is Missing.
	Held bool
	// ProviderOn is false when nobody can work on it.
	ProviderOn bool
	// Next is when the next step is due; zero: when something changes, or not known.
	Next time.Time
	// Failures counts the steps that failed in a row, Error is the last one's.
	Failures int
	Error    string

	// Offer is nil where nothing is leased, and while it is not known.
	Offer *offer.Offer
	// Use is how it is leased; UseErr says why that is not known, in one line without
	// secrets.
	Use    lease.Use
	UseErr string
	// Probe is nil while nobody here probes it.
	Probe *Probe
}

// FirstLine is what a shell keeps of an error for Known.Error.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Problem is a document that is refused.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Name    string `json:"name,omitempty"`
	Field   string `json:"field,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}
