package health

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// takeOver adds a proxy as a new leader finds it.
func (f *fleet) takeOver(i int, healthy bool, latency time.Duration) {
	p := proxyOf(i)
	p.Known = &Known{Healthy: healthy, Latency: latency, At: time.Now().Add(-time.Hour)}
	f.Set(p, time.Now())
}

// TestAfterAHandoverNothingIsWrittenThatIsNotNew: neither a verdict nor a latency that
// the status has already.
func TestAfterAHandoverNothingIsWrittenThatIsNotNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.answer(1, Result{Class: Dial})
		for i := range 20 {
			f.takeOver(i, i != 1, 40*time.Millisecond) // 30 ms now
		}
		time.Sleep(10 * time.Minute)
		if len(f.writes()) != 0 {
			t.Errorf("writes for %q", f.writes())
		}
		if n := f.count(1); n < 10 {
			t.Errorf("%d probes of the bad one", n)
		}
	})
}

// TestAfterAHandoverALatencyThatIsAnotherIsWritten, at once if the last write is long ago.
func TestAfterAHandoverALatencyThatIsAnotherIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.takeOver(0, true, 400*time.Millisecond)
		time.Sleep(31 * time.Second)
		if len(f.writes()) != 1 || f.Writes()[LatencyChange] != 1 {
			t.Errorf("writes %v", f.Writes())
		}
	})
}

// TestAVerdictThatWasTakenOverTakesAsManyResultsToFlip as any other.
func TestAVerdictThatWasTakenOverTakesAsManyResultsToFlip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.answer(0, Result{Class: Timeout})
		f.takeOver(0, true, 30*time.Millisecond)
		f.takeOver(1, false, 0)
		for i, few := range []int{2, 1} {
			for f.count(i) < few {
				time.Sleep(time.Second)
			}
			if s := f.snapshot(i); s != nil && f.count(i) == few {
				t.Errorf("%s flipped after %d probes", key(i), few)
			}
		}
		time.Sleep(2 * time.Minute)
		f.healthy(t, 0, false)
		f.healthy(t, 1, true)
	})
}

// TestAVerdictThatWasTakenOverIsProbed once as many results say the same as it takes.
func TestAVerdictThatWasTakenOverIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.answer(0, Result{Class: Dial})
		for i := range 2 {
			f.takeOver(i, i == 1, 30*time.Millisecond)
		}
		for i, enough := range []int{check.FailureThreshold, check.SuccessThreshold} {
			p := &egress_v1alpha1.Proxy{Namespace: "crawl", Name: strings.TrimPrefix(key(i), "crawl/"), UID: types.UID(proxyOf(i).UID)}
			for f.count(i) < enough {
				if f.Probed(p) {
					t.Errorf("%s was probed after %d results", key(i), f.count(i))
				}
				time.Sleep(time.Second)
			}
			time.Sleep(time.Second)
			if !f.Probed(p) {
				t.Errorf("%s was not probed after %d results", key(i), f.count(i))
			}
		}
	})
}

// TestADroppedLatencyIsToldAgain: what was not passed on is still what was reported.
func TestADroppedLatencyIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.add(1)
		time.Sleep(5 * time.Minute)
		f.refuses(true)
		f.answer(0, Result{Class: OK, Latency: 400 * time.Millisecond})
		time.Sleep(5 * time.Minute)
		if s := f.snapshot(0); s.LatencyMillis != 30 {
			t.Errorf("%d ms are shown that nobody was told of", s.LatencyMillis)
		}
		f.refuses(false)
		time.Sleep(time.Minute)
		if s := f.snapshot(0); s.LatencyMillis != 400 || f.Writes()[LatencyChange] != 1 {
			t.Errorf("%d ms, writes %v", s.LatencyMillis, f.Writes())
		}
	})
}
