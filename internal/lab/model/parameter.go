package model

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// The bounds of parameters. A day is as long as a run can be, and a hundred proxies show
// all that a thousand would.
const (
	maxTime    = 24 * time.Hour
	maxProxies = 100
)

// parameter is one that some models take.
type parameter struct {
	key    string
	models []lab.Model
	// set reads value; what is wrong with it and the remedy are empty when it is right.
	set func(s *Spec, value string) (problem, remedy string)
}

func (p parameter) fits(m lab.Model) bool { return slices.Contains(p.models, m) }

var (
	onStream = []lab.Model{lab.ModelStream}
	onReload = []lab.Model{lab.ModelReload}
	onDNS    = []lab.Model{lab.ModelDNS}
)

var parameters = []parameter{
	{"delay", onStream, moment(0, func(s *Spec) *lab.Moment { return &s.delay })},
	{"interval", onReload, moment(0, func(s *Spec) *lab.Moment { return &s.ownPolicy().Interval })},
	{"batch", onReload, moment(0, func(s *Spec) *lab.Moment { return &s.ownPolicy().Batch })},
	{"drain", onReload, moment(0, func(s *Spec) *lab.Moment { return &s.drain })},
	{"ttl", onDNS, moment(time.Millisecond, func(s *Spec) *lab.Moment { return &s.ttl })},
	{"proxies", models, setProxies},
	{"spread", models, moment(0, func(s *Spec) *lab.Moment { return &s.spread })},
}

// Parameters returns the names of the parameters that a model takes; an unknown one
// takes none.
func Parameters(m lab.Model) (keys []string) {
	for _, p := range parameters {
		if p.fits(m) {
			keys = append(keys, p.key)
		}
	}
	return keys
}

func (s *Spec) ownPolicy() *lab.Policy {
	if s.policy == nil {
		s.policy = &lab.Policy{OnChange: true}
	}
	return s.policy
}

func moment(least time.Duration, field func(s *Spec) *lab.Moment) func(*Spec, string) (string, string) {
	return func(s *Spec, value string) (problem, remedy string) {
		d, err := time.ParseDuration(value)
		switch {
		case err != nil:
			problem = "is no duration"
		case d < 0:
			problem = "is negative"
		case d < least:
			problem = "is too short"
		case d > maxTime:
			problem = "is too long"
		}
		*field(s) = lab.Moment(d)
		return problem, fmt.Sprintf("give a time of %v to %v, such as 500ms or 2s", least, maxTime)
	}
}

func setProxies(s *Spec, value string) (problem, remedy string) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxProxies {
		problem = "is no count of proxies"
	}
	s.proxies = n
	return problem, fmt.Sprintf("give a whole number of 1 to %d", maxProxies)
}
