package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Spec is a model with its parameters, as [Parse] reads it.
type Spec struct {
	// Name is as asked for: "model:reload:interval=2s".
	Name  string
	Model lab.Model

	delay   lab.Moment  // stream: from a change until the proxy has it
	ttl     lab.Moment  // dns: the age at which it asks again
	policy  *lab.Policy // reload: nil for the script's
	drain   lab.Moment  // reload: how long old workers keep the old view
	proxies int         // in the group
	spread  lab.Moment  // how much later than the first the last of them is
}

// defaultTTL is what CoreDNS gives to the names of Kubernetes
// (https://coredns.io/plugins/kubernetes).
const defaultTTL = lab.Moment(5 * time.Second)

var models = []lab.Model{lab.ModelStream, lab.ModelReload, lab.ModelDNS}

// Models returns all models, in the order in which they are listed.
func Models() []lab.Model { return slices.Clone(models) }

// Parse reads a name of the form model:NAME[:PARAMETER=VALUE]..., for example
// "model:reload:interval=2s:batch=100ms:drain=10s". An unknown model is an
// [*UnknownModelError], anything else that is wrong a [*SpecError].
func Parse(name string) (Spec, error) {
	parts := strings.Split(name, ":")
	if parts[0] != "model" || len(parts) < 2 {
		return Spec{}, &SpecError{name, "not the name of a model", "write model:stream, model:reload or model:dns"}
	}
	s := Spec{Name: name, Model: lab.Model(parts[1]), ttl: defaultTTL, proxies: 1}
	if !slices.Contains(models, s.Model) {
		return Spec{}, fmt.Errorf("%s: %w", name, &UnknownModelError{Model: s.Model, Known: Models()})
	}
	given := make(map[string]bool)
	for _, part := range parts[2:] {
		key, value, _ := strings.Cut(part, "=")
		if given[key] {
			return Spec{}, &SpecError{name, key + " is given twice", "give it once"}
		}
		given[key] = true
		if err := s.set(key, value); err != nil {
			return Spec{}, err
		}
	}
	if given["spread"] && s.proxies < 2 {
		return Spec{}, &SpecError{name, "one proxy alone has no spread", "add proxies=2 or more"}
	}
	return s, nil
}

func (s *Spec) set(key, value string) error {
	for _, p := range parameters {
		if p.key != key {
			continue
		}
		if !p.fits(s.Model) {
			return &SpecError{s.Name, fmt.Sprintf("%s is for the %s model", key, strings.Join(texts(p.models), " and ")), s.takes() + strings.Join(Parameters(s.Model), ", ")}
		}
		if problem, remedy := p.set(s, value); problem != "" {
			return &SpecError{s.Name, fmt.Sprintf("%s %q %s", key, value, problem), remedy}
		}
		return nil
	}
	return &SpecError{s.Name, fmt.Sprintf("no parameter %q", key), choose(key, s.takes(), Parameters(s.Model))}
}

func (s *Spec) takes() string { return fmt.Sprintf("the %s model takes ", s.Model) }
