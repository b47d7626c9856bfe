package fakegce

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// Calls that the service answers.
const (
	Insert    = "insert"
	Get       = "get"
	Delete    = "delete"
	List      = "list"
	Operation = "operation"
)

// Where a call can be held.
const (
	Before = "before" // nothing is carried out unless it is released
	After  = "after"  // it is carried out, and not answered
)

// Fault changes what becomes of calls.
type Fault struct {
	// Call is one of those above, Zone and Name what it is about; empty is any.
	Call, Zone, Name string
	// Skip calls pass first; Times is how many it then changes, 0 all.
	Skip, Times int

	// Latency is before the call is carried out.
	Latency time.Duration
	// Status, unless 0, is answered with Reason and Message: instead of carrying the call
	// out, or afterwards if Done.
	Status          int
	Reason, Message string
	Done            bool
	// Drop breaks the connection instead of answering.
	Drop bool
	// Hold is Before or After: the call stays there until it is released.
	Hold string
	// Ends is the code of the error that the operation of an insert ends with, such as
	// QUOTA_EXCEEDED; Message says more.
	Ends string
}

type fault struct {
	Fault
	seen int
}

// Add begins a fault and returns what to lift it by.
func (c *Cloud) Add(f Fault) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	c.faults[c.serial] = &fault{Fault: f}
	return c.serial
}

// Lift ends a fault. Calls that it holds are released.
func (c *Cloud) Lift(id int) {
	c.mu.Lock()
	delete(c.faults, id)
	c.mu.Unlock()
	c.release(id)
}

// Quota and stockout as the service says them, at once and as the end of an operation.
var (
	QuotaNow = Fault{
		Call: Insert, Status: http.StatusForbidden, Reason: "quotaExceeded",
		Message: "Quota 'IN_USE_ADDRESSES' exceeded.  Limit: 8.0 in region europe-west1.",
	}
	QuotaLater = Fault{Call: Insert, Ends: "QUOTA_EXCEEDED", Message: "Quota 'CPUS' exceeded.  Limit: 24.0 in region europe-west1."}
	StockNow   = Fault{
		Call: Insert, Status: http.StatusServiceUnavailable, Reason: "ZONE_RESOURCE_POOL_EXHAUSTED",
		Message: "The zone 'projects/test-project/zones/europe-west1-b' does not have enough resources available to fulfill the request.  Try a different zone, or try again later.",
	}
	StockLater = Fault{Call: Insert, Ends: "ZONE_RESOURCE_POOL_EXHAUSTED", Message: StockNow.Message}
	TooMany    = Fault{
		Status: http.StatusForbidden, Reason: "rateLimitExceeded",
		Message: "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute' of service 'compute.googleapis.com'.",
	}
	NoRights = Fault{Status: http.StatusForbidden, Reason: "forbidden", Message: "Required 'compute.instances.get' permission for the instance."}
)

// match is the first of the faults, in the order they were added, that changes a call.
// The lock is held.
func (c *Cloud) match(call Call) (Fault, int) {
	for _, id := range slices.Sorted(maps.Keys(c.faults)) {
		f := c.faults[id]
		if !f.about(call) {
			continue
		}
		f.seen++
		if f.seen > f.Skip {
			return f.Fault, id
		}
	}
	return Fault{}, 0
}

// about says whether a fault has something to do with a call still.
func (f *fault) about(call Call) bool {
	return (f.Call == "" || f.Call == call.Call) && (f.Name == "" || f.Name == call.Name) && (f.Zone == "" || f.Zone == call.Zone) &&
		(f.Times == 0 || f.seen < f.Skip+f.Times)
}
