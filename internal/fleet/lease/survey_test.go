package lease

import (
	"testing"
	"time"
)

// counting hides that a store is a Surveyor.
type counting struct{ Store }

// TestSurvey: all proxies are told of at once as each is alone, with what the store can
// tell.
func TestSurvey(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := NewMemory(Options{Now: func() time.Time { return now }})
	ctx := t.Context()
	for _, uid := range []string{"1", "2", "3"} {
		if err := s.Set(ctx, Proxy{UID: uid, Namespace: "crawl", Name: "px-" + uid, Address: "192.0.2." + uid, Healthy: true}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		l, err := s.Acquire(ctx, Request{TTL: time.Minute, Target: "shop.example"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Report(ctx, l.ID, Banned, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, waiting := range []Store{s, NewWaiting(s, WaitOptions{})} {
		uses, whole, err := Survey(ctx, waiting)
		if err != nil || !whole || len(uses) != 2 || uses["1"].Active != 1 || len(uses["2"].Cooldowns) != 1 || uses["2"].Cooldowns[0].Target != "shop.example" {
			t.Errorf("%+v, whole %v, error %v", uses, whole, err)
		}
	}
	uses, whole, err := Survey(ctx, counting{s})
	if err != nil || whole || len(uses) != 2 || uses["2"].Active != 1 || uses["2"].Cooldowns != nil {
		t.Errorf("of a store that only counts: %+v, whole %v, error %v", uses, whole, err)
	}
	now = now.Add(time.Hour)
	if uses, _, _ := Survey(ctx, s); len(uses) != 0 {
		t.Errorf("when all is over: %+v", uses)
	}
}
