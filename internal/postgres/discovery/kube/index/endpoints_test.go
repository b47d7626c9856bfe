package index_test

import (
	"errors"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

// byName is how the Service db is dialled without slices.
const byName = "db.shop.svc.cluster.local:5432"

func TestEndpointsThatAreReadyAreDialled(t *testing.T) {
	x := indexOf(options, service("db", 1), slice("1", "db", "10.0.0.1", "10.0.0.2!", "10.0.0.3†"), slice("2", "db", "10.0.0.4", "10.0.0.1"))
	expect(t, addresses(t, x, "orders", false), "10.0.0.1:5433", "10.0.0.4:5433")
}

func TestSessionsAreSpread(t *testing.T) {
	x := indexOf(options, service("db", 1), slice("1", "db", "10.0.0.1", "10.0.0.2", "10.0.0.3"))
	count := map[string]int{}
	for range 300 {
		target, err := x.Resolve("orders", false)
		if err != nil {
			t.Fatal(err)
		}
		count[target.Address]++
	}
	if len(count) != 3 || count["10.0.0.1:5433"] != 100 || count["10.0.0.2:5433"] != 100 {
		t.Errorf("got %v, want a hundred each", count)
	}
}

func TestServiceWithoutSlicesIsDialledByName(t *testing.T) {
	x := indexOf(options, service("db", 1))
	expect(t, addresses(t, x, "orders", false), byName)
	target, err := x.Resolve("orders", false)
	want := discovery.Backend{Deployment: "orders", Host: "db.shop.svc.cluster.local", Port: 5432, Service: "shop/db"}
	if err != nil || target.Backend != want {
		t.Errorf("got %+v, %v; want %+v", target, err, want)
	}
}

// A placeholder without endpoints, as the controller makes one, means that none is ready.
func TestEmptySliceIsNotReady(t *testing.T) {
	x := indexOf(options, service("db", 1), slice("1", "db"))
	_, err := x.Resolve("orders", false)
	if _, ok := errors.AsType[*discovery.NotReadyError](err); !ok {
		t.Errorf("got %v, want that none is ready", err)
	}
}

func TestNotReadyKeepsSessions(t *testing.T) {
	x := indexOf(options, service("db", 1), slice("1", "db", "10.0.0.1"))
	target, err := x.Resolve("orders", false)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, gone(x.SetSlice(slice("1", "db", "10.0.0.1!"))))
	if !x.Serves(target) {
		t.Error("a session may not stay at an endpoint that is not ready")
	}
	expect(t, addresses(t, x, "orders", false))
	expect(t, gone(x.SetSlice(slice("1", "db", "10.0.0.1†"))))
	expect(t, gone(x.SetSlice(slice("1", "db"))), "10.0.0.1:5433")
	if x.Serves(target) {
		t.Error("a session may stay at an endpoint that left")
	}
}

func TestEndpointIsGoneWhenItLeavesEverySlice(t *testing.T) {
	x := indexOf(options, service("db", 1), slice("1", "db", "10.0.0.1"), slice("2", "db", "10.0.0.1!"))
	expect(t, gone(x.RemoveSlice(slice("1", "db", "10.0.0.1"))))
	expect(t, gone(x.RemoveSlice(slice("2", "db", "10.0.0.1"))), "10.0.0.1:5433")
}

func TestSlicesMayMoveEndpointsInOneList(t *testing.T) {
	x := indexOf(options, service("db", 1), slice("1", "db", "10.0.0.1"))
	expect(t, gone(x.ReplaceSlices("shop", append(slicesOf(), slice("2", "db", "10.0.0.1")))))
	expect(t, gone(x.ReplaceSlices("elsewhere", nil)))
	expect(t, gone(x.ReplaceSlices("", nil)), "10.0.0.1:5433")
}

func TestSessionsAtANameStay(t *testing.T) {
	x := indexOf(options, service("db", 1))
	target, err := x.Resolve("orders", false)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, gone(x.SetSlice(slice("1", "db", "10.0.0.1"))))
	if !x.Serves(target) {
		t.Error("it may not stay although its Service is there")
	}
	expect(t, gone(x.RemoveService(service("db", 1))), "10.0.0.1:5433", byName)
}

// The sessions of a Service whose label has a mistake stay; new ones do not come.
func TestMistakeInAPortCutsNobody(t *testing.T) {
	x := indexOf(options, service("db", 1), slice("1", "db", "10.0.0.1"))
	target, err := x.Resolve("orders", false)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, gone(x.SetService(service("db", 1, "destination-port", "5x"))))
	expect(t, addresses(t, x, "orders", false))
	if !x.Serves(target) {
		t.Error("its session may not stay")
	}
	expect(t, gone(x.SetSlice(slice("1", "db"))), "10.0.0.1:5433")
}

func TestBeforeTheFirstListNothingIsUnknown(t *testing.T) {
	x := indexBeforeSync()
	_, err := x.Resolve("orders", false)
	if _, soon := errors.AsType[*discovery.NotReadyError](err); !soon {
		t.Errorf("got %v, want that it is not ready", err)
	}
	x.Synced()
	_, err = x.Resolve("orders", false)
	if _, unknown := errors.AsType[*discovery.UnknownError](err); !unknown {
		t.Errorf("got %v, want that it is unknown", err)
	}
}

func TestUnknownTellsOfTheOtherForm(t *testing.T) {
	x := indexOf(options, service("db", 1, "pooled", "true"))
	_, err := x.Resolve("orders", false)
	if unknown, ok := errors.AsType[*discovery.UnknownError](err); !ok || !unknown.Other {
		t.Errorf("got %v, want that there is its pool only", err)
	}
}

// Until the slices of a Service that was chosen later are fetched, it is not ready; what
// the watch tells in the meantime counts more than what was fetched.
func TestFetch(t *testing.T) {
	x := indexOf(options, nil...)
	e := x.SetService(service("db", 1))
	if len(e.Fetch) != 1 || e.Fetch[0].String() != "shop/db" {
		t.Fatalf("fetches %v", e.Fetch)
	}
	expect(t, addresses(t, x, "orders", false))
	x.SetSlice(slice("new", "db", "10.0.0.2"))
	x.RemoveSlice(slice("old", "db", "10.0.0.1"))
	expect(t, addresses(t, x, "orders", false), "10.0.0.2:5433")
	x.Fetched(e.Fetch[0], append(slicesOf(), slice("old", "db", "10.0.0.1"), slice("new", "db", "10.0.0.9"), slice("other", "db", "10.0.0.3")))
	expect(t, addresses(t, x, "orders", false), "10.0.0.2:5433", "10.0.0.3:5433")
	if again := x.SetService(service("db", 1, "pooled", "true")); len(again.Fetch) > 0 {
		t.Errorf("it fetches again what it knows: %v", again.Fetch)
	}
}

func TestChangedWakesWhoWaits(t *testing.T) {
	x := indexOf(options, service("db", 1), slice("1", "db", "10.0.0.1!"))
	changed := x.Changed()
	x.SetSlice(slice("1", "db", "10.0.0.1!")) // nothing new
	x.SetSlice(slice("9", "other", "10.0.0.1"))
	select {
	case <-changed:
		t.Fatal("woken by nothing")
	default:
	}
	x.SetSlice(slice("1", "db", "10.0.0.1"))
	select {
	case <-changed:
	default:
		t.Error("not woken")
	}
}
