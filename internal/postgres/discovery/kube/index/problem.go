package index

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Reason is a kind of problem; there are few, so that metrics may be labelled by it.
type Reason string

// What may be wrong with a Service.
const (
	Conflict            Reason = "DeploymentConflict"
	InvalidDeployment   Reason = "InvalidDeployment"
	UnnamableDeployment Reason = "UnnamableDeployment" // it is served, but no login can name it
	InvalidPooled       Reason = "InvalidPooled"
	InvalidPassthrough  Reason = "InvalidPassthrough"
	InvalidPort         Reason = "InvalidPort"
	NoPort              Reason = "NoPort"
	ExternalName        Reason = "ExternalName"
	RefusedEndpoint     Reason = "RefusedEndpoint"
	PortNotListed       Reason = "PortNotListed"
)

// Problem is something wrong with a Service that the selector chooses.
type Problem struct {
	Service types.NamespacedName
	UID     types.UID // of the Service
	Reason  Reason
	// Message continues a sentence that begins with the Service's name, and has a remedy.
	Message string
}

// String is a sentence.
func (p Problem) String() string { return "Service " + p.Service.String() + " " + p.Message }

// Problems returns all there are, by Service.
func (x *Index) Problems() []Problem {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []Problem
	for _, s := range x.services {
		all = append(all, x.problems(s)...)
	}
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Service.Namespace, b.Service.Namespace), cmp.Compare(a.Service.Name, b.Service.Name))
	})
	return all
}

// ProblemsOf returns those of a Service.
func (x *Index) ProblemsOf(service types.NamespacedName) []Problem {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if s, ok := x.services[service]; ok {
		return x.problems(s)
	}
	return nil
}

func (x *Index) problems(s *service) []Problem {
	all := slices.Clone(s.claim.problems)
	add := func(reason Reason, message string) {
		all = append(all, Problem{Service: s.name, UID: s.claim.uid, Reason: reason, Message: message})
	}
	if s.claim.valid {
		if w := x.contests[s.claim.form].winner(); w != s {
			add(Conflict, fmt.Sprintf("is not used: deployment %s is served by Service %s, which %s; give one of them another name", w.claim.dial.backend.Name(), w.name, s.claim.rank.why(w.claim.rank)))
		}
	}
	refused, unlisted := s.badSlices()
	if refused != "" {
		add(RefusedEndpoint, refused)
	}
	if unlisted != "" && !s.claim.refused {
		add(PortNotListed, fmt.Sprintf("has port %q, which EndpointSlice %s does not list; name the port alike in both", s.dial.port.name, unlisted))
	}
	return all
}

// why says why another one goes before.
func (r rank) why(o rank) string {
	if r.created == o.created {
		return "is as old and goes before it by name"
	}
	return "is older"
}

// badSlices returns the first problem of slices, by their names, and the first slice
// that has endpoints and no port to dial them at.
func (s *service) badSlices() (refused, unlisted string) {
	var first string
	for name, slice := range s.slices {
		if slice.problem.Reason != "" && (first == "" || name < first) {
			first, refused = name, slice.problem.Message
		}
		right := s.dial.family == "" || slice.family == s.dial.family
		if slice.port == 0 && right && len(slice.entries) > 0 && (unlisted == "" || name < unlisted) {
			unlisted = name
		}
	}
	return refused, unlisted
}
