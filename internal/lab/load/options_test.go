package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/load"
)

// TestBounds: nothing is sent when an option is out of bounds, and one line says which.
func TestBounds(t *testing.T) {
	for want, change := range map[string]func(*load.Options){
		`load: address "" is out of bounds: give the proxy's, like "127.0.0.1:8000"`:                                    func(o *load.Options) { o.Address = "" },
		"load: clock none is out of bounds: give the one of the run":                                                    func(o *load.Options) { o.Clock = nil },
		"load: rate 0 is out of bounds: choose 1 to 5000 requests a second":                                             func(o *load.Options) { o.Rate = 0 },
		"load: rate 5001 is out of bounds: choose 1 to 5000 requests a second":                                          func(o *load.Options) { o.Rate = 5001 },
		"load: length 0s is out of bounds: choose up to 1h0m0s":                                                         func(o *load.Options) { o.Length = 0 },
		"load: length 1h0m0.001s is out of bounds: choose up to 1h0m0s":                                                 func(o *load.Options) { o.Length = load.MaxLength + ms },
		"load: timeout -1ms is out of bounds: choose up to 2m0s":                                                        func(o *load.Options) { o.Timeout = -ms },
		"load: timeout 2m0.001s is out of bounds: choose up to 2m0s":                                                    func(o *load.Options) { o.Timeout = load.MaxTimeout + ms },
		"load: requests in flight -1 is out of bounds: choose up to 4096, or 0 for what fits the timeout":               func(o *load.Options) { o.MaxInFlight = -1 },
		"load: kept connections 5000 is out of bounds: choose up to 4096, or 0 for the default":                         func(o *load.Options) { o.Kept = 5000 },
		"load: rate 1000 for length 1h0m0s makes 3600000 requests, at most 2000000 are recorded: choose less of either": func(o *load.Options) { o.Rate, o.Length = 1000, load.MaxLength },
	} {
		o := twenty("127.0.0.1:1")
		change(&o)
		requests, err := load.Run(t.Context(), o)
		if len(requests) != 0 || err == nil || err.Error() != want || strings.Contains(want, "\n") {
			t.Errorf("%d requests, error %v\nwant %s", len(requests), err, want)
		}
	}
}

// TestALateStartShiftsNoRequest: they are due as the run has it, however late the load
// begins, and none of them after its end.
func TestALateStartShiftsNoRequest(t *testing.T) {
	o := twenty(serve(t, backend))
	clock := o.Clock
	late := 500 * ms
	o.Clock = func() lab.Moment { return clock() + late }
	requests := run(t, o)
	for n, r := range requests {
		if want := lab.Moment(n) * lab.Moment(time.Second) / lab.Moment(o.Rate); r.Due != want {
			t.Errorf("request %d is due at %v, want %v", r.ID, r.Due, want)
		}
	}
	if last := requests[len(requests)-1]; last.Due >= o.Length || requests[0].Sent < late {
		t.Errorf("the last is due at %v of %v, the first was sent at %v", last.Due, o.Length, requests[0].Sent)
	}
}

// TestEveryRequestIsDueWithinLength: as many as begin in it, to the nanosecond.
func TestEveryRequestIsDueWithinLength(t *testing.T) {
	o := twenty(serve(t, backend))
	for length, want := range map[lab.Moment]int{1: 1, 5 * ms: 1, 5*ms + 1: 2, 10 * ms: 2, 12 * ms: 3} {
		o.Length = length
		if got := len(run(t, o)); got != want {
			t.Errorf("%d requests within %v, want %d", got, length, want)
		}
	}
}
