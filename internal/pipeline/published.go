package pipeline

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// published is one consistent answer of the loop: immutable.
type published struct {
	observed store.View
	state    derive.State
	rejected map[store.Key]acceptance.Rejection
	faults   map[store.Key][]derive.Fault // functions that failed, by each object they saw
	at       time.Time
	decided  bool // something was accepted, if only that there is nothing
}
