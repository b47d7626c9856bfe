package load_test

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/load"
)

// TestStallIsARamp: a server answers nobody for a second. A closed loop would see one
// slow request; here each request that became due meanwhile waited for the rest of it.
func TestStallIsARamp(t *testing.T) {
	now := clock()
	stalled := make(chan struct{})
	var ends lab.Moment
	timer := time.AfterFunc(time.Second, func() {
		ends = now()
		close(stalled)
	})
	defer timer.Stop()
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-stalled
		backend(w, r)
	})
	requests := run(t, load.Options{Address: address, Rate: 100, Length: 1300 * ms, Timeout: long, Clock: now})

	if diff := cmp.Diff(map[lab.Outcome]int{lab.Answered: 130}, count(requests)); diff != "" {
		t.Fatal(diff)
	}
	<-stalled // it has happened already; ends is written
	ramp, least := 0, lab.Moment(0)
	for _, r := range requests {
		if rest := ends - r.Due; rest > 0 {
			ramp++
			least += rest
			if latency := r.Done - r.Due; latency < rest {
				t.Errorf("due %v, answered after %v, but the stall went on for %v", r.Due, latency, rest)
			}
		}
	}
	// 100 of them, 10 ms apart, share the stall: half a second each on average.
	if ramp < 95 || least < 45_000*ms {
		t.Errorf("%d requests saw the stall, %v of it", ramp, time.Duration(least))
	}
	account := lab.Account(requests, nil, nil)
	if account.Latency.P50 < 100*ms || account.Latency.Max < 900*ms {
		t.Errorf("the stall does not show in %+v", account.Latency)
	}
}

// TestHangingRequestsDelayNobody: those that hang are due and sent like all others.
func TestHangingRequestsDelayNobody(t *testing.T) {
	release := make(chan struct{})
	var arrived atomic.Int64
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == 20 {
			close(release) // a closed loop of fewer clients would never get here
		}
		<-release
		backend(w, r)
	})
	if diff := cmp.Diff(map[lab.Outcome]int{lab.Answered: 20}, count(run(t, twenty(address)))); diff != "" {
		t.Error(diff)
	}
}

// TestLateGeneratorSaysSo: the machine gives it no time for half a second.
func TestLateGeneratorSaysSo(t *testing.T) {
	now, calls := clock(), atomic.Int64{}
	o := twenty(serve(t, backend))
	o.Clock = func() lab.Moment {
		if calls.Add(1) > 5 {
			return now() + 500*ms
		}
		return now()
	}
	requests := run(t, o)
	account := lab.Account(requests, nil, nil)
	if account.AnsweredByRemoved != 20 || account.Lateness.Max < 400*ms || account.Latency.Max < account.Lateness.Max {
		t.Errorf("%+v", account)
	}
}

// TestCancelEndsAtOnce: requests in flight are cut, and left out; those before are told.
func TestCancelEndsAtOnce(t *testing.T) {
	const answered, hanging = 7, 5
	ctx, cancel := newCancel(t)
	var arrived atomic.Int64
	var gone sync.WaitGroup
	gone.Add(hanging)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := arrived.Add(1)
		if n <= answered {
			backend(w, r)
			return
		}
		if n == answered+hanging {
			cancel()
		}
		if n <= answered+hanging {
			<-r.Context().Done() // the client has closed its connection
			gone.Done()
		}
	})
	o := load.Options{Address: address, Rate: 50, Length: long, Timeout: long, Clock: clock()}
	requests, err := load.Run(ctx, o)
	gone.Wait()

	if !errors.Is(err, errAsked) {
		t.Errorf("error %v, want the cause", err)
	}
	if diff := cmp.Diff(map[lab.Outcome]int{lab.Answered: answered}, count(requests)); diff != "" {
		t.Error(diff)
	}
	if took := o.Clock(); took > long/2 {
		t.Errorf("took %v", time.Duration(took))
	}
}

// TestCancelledBefore: nothing is sent.
func TestCancelledBefore(t *testing.T) {
	ctx, cancel := newCancel(t)
	cancel()
	requests, err := load.Run(ctx, twenty("127.0.0.1:1"))
	if len(requests) != 0 || !errors.Is(err, errAsked) {
		t.Errorf("%d requests, error %v", len(requests), err)
	}
}

// TestDueTimesAreMet: with time to spare, requests go out when they are due. The bound
// is wide, for the machine may be busy; the benchmark says what an idle one does.
func TestDueTimesAreMet(t *testing.T) {
	o := twenty(serve(t, backend))
	o.Rate, o.Length = 1000, 300*ms
	requests := run(t, o)
	for _, r := range requests {
		if r.Sent < r.Due {
			t.Fatalf("request %d was sent %v early", r.ID, time.Duration(r.Due-r.Sent))
		}
	}
	if late := lab.Account(requests, nil, nil).Lateness; late.P50 > 50*ms {
		t.Errorf("late: %+v", late)
	}
}
