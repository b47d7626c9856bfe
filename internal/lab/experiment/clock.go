package experiment

import (
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Clock is the time of a run. The zero Clock stands at 0 until Start.
type Clock struct{ started atomic.Pointer[time.Time] }

// Start begins the run.
func (c *Clock) Start() { c.started.Store(new(time.Now())) }

// Now returns the moment of the run.
func (c *Clock) Now() lab.Moment {
	if started := c.started.Load(); started != nil {
		return lab.Moment(time.Since(*started))
	}
	return 0
}
