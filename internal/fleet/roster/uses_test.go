package roster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// TestWhatPeopleAreTold: of one Proxy and of many the same, and of many with one call of
// the store; of a store that is away, that it is, and nothing else that is not true.
func TestWhatPeopleAreTold(t *testing.T) {
	in(t, func(w *world) {
		w.lead()
		var all []explain.Known
		for i := range 2 * few {
			name := fmt.Sprintf("px-%02d", i)
			w.put(name, external(name, name))
			all = append(all, explain.Known{Namespace: "crawl", Name: name})
		}
		all = append(all, explain.Known{Namespace: "crawl", Name: "no-such"})
		l := w.granted()
		if err := w.store.Report(w.t.Context(), l.ID, lease.Banned, "shop.example"); err != nil {
			t.Fatal(err)
		}
		var serving error
		seat := &Seat{}
		seat.Take(lease.NewWaiting(w.store, lease.WaitOptions{}))
		u := &Uses{Roster: w.roster, Store: seat, Name: "memory", Serving: func() error { return serving }}
		if got := u.Fill(w.t.Context(), all[:1]); got != (explain.Leasing{Store: "memory"}) {
			t.Errorf("%+v", got)
		}
		if k := all[0]; k.Offer == nil || k.Offer.Why != offer.Offered || k.Use.Active != 1 || len(k.Use.Cooldowns) != 1 || k.Probe == nil || k.Probe.FailureThreshold == 0 {
			t.Errorf("%+v %+v", k, k.Probe)
		}
		one := all[0].Use
		all[0].Use, w.store.calls["use"] = lease.Use{}, 0
		u.Fill(w.t.Context(), all)
		if w.store.calls["use"] != 0 || fmt.Sprint(all[0].Use) != fmt.Sprint(one) || all[len(all)-1].Offer != nil {
			t.Errorf("%d calls for one each, %+v, of none %+v", w.store.calls["use"], all[0].Use, all[len(all)-1])
		}
		w.store.goes(true)
		if got := u.Fill(w.t.Context(), all[:1]); !strings.Contains(got.Error, "does not answer") || !strings.Contains(all[0].UseErr, "does not answer") || all[0].Offer == nil {
			t.Errorf("%+v %+v", got, all[0])
		}
		seat.Leave()
		if got := u.Fill(w.t.Context(), all); got.Error == "" || all[1].UseErr == "" || seat.Waiters() != 0 {
			t.Errorf("without a term %+v %+v", got, all[1])
		}
	})
}
