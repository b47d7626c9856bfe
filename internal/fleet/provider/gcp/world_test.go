package gcp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/gcp"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

const (
	project = "test-project"
	zone    = "europe-west1-b"
	other   = "us-central1-a"
)

// clock goes on only when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// world is a service behind a real connection.
type world struct {
	*fakegce.Cloud
	url    string
	clock  *clock
	faults map[providertest.Fault]int
	undo   map[providertest.Fault]func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := &clock{now: time.Now()}
	cloud := fakegce.New(fakegce.Options{RunAfter: 3 * time.Second, AddressAfter: time.Second, GoneAfter: 2 * time.Second, Now: c.Now})
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		for _, broken := range cloud.Broken() {
			t.Error(broken)
		}
	})
	return &world{cloud, server.URL, c, map[providertest.Fault]int{}, map[providertest.Fault]func(){}}
}

func (w *world) options(cluster string) gcp.Options {
	return gcp.Options{Project: project, Cluster: cluster, Endpoint: w.url, ReadOperations: true, Now: w.clock.Now}
}

// Open implements [providertest.World].
func (w *world) Open(_ testing.TB, cluster string) provider.Provider {
	return gcp.New(w.options(cluster))
}

// Request implements [providertest.World].
func (*world) Request(cluster, uid string) provider.CreateRequest {
	return provider.CreateRequest{
		Name: provider.NameFromUID(uid), Cluster: cluster, UID: uid, Hash: strings.Repeat("0123456789abcdef", 4),
		Namespace: "crawl", Proxy: "fra-1", Zone: zone, MachineType: "e2-micro", Spot: false, ExternalIP: true, Port: 3128, Scheme: "http",
		UserData:    []byte("#cloud-config\npassword: " + providertest.Password + "\n"),
		Credentials: provider.Credentials{Username: "crawler", Password: providertest.Password},
	}
}

// Step implements [providertest.World].
func (w *world) Step(testing.TB) { w.clock.add(time.Second) }

// Count implements [providertest.World].
func (w *world) Count(_ testing.TB, name string) int {
	n := 0
	for _, m := range w.Machines() {
		if m.Name == name {
			n++
		}
	}
	return n
}

// unavailable is how Google says that something does not work just now.
func unavailable(call string) fakegce.Fault {
	return fakegce.Fault{Call: call, Status: http.StatusServiceUnavailable, Reason: "backendError", Message: "Backend Error"}
}

// ofCalls are the faults that change what becomes of calls.
func ofCalls(f providertest.Fault) (fakegce.Fault, bool) {
	out, ok := map[providertest.Fault]fakegce.Fault{
		providertest.CreateLost:        {Call: fakegce.Insert, Done: true, Drop: true},
		providertest.CreateUnavailable: unavailable(fakegce.Insert),
		providertest.CreateInvalid: {
			Call: fakegce.Insert, Status: http.StatusBadRequest, Reason: "invalid",
			Message: "Invalid value for field 'resource.metadata.items[1].value': '#cloud-config\npassword: " + providertest.Password + "\n'. It is bad.",
		},
		providertest.QuotaNow: fakegce.QuotaNow, providertest.QuotaLater: fakegce.QuotaLater,
		providertest.StockoutNow: fakegce.StockNow, providertest.StockoutLater: fakegce.StockLater,
		providertest.GetUnavailable: unavailable(fakegce.Get), providertest.DeleteUnavailable: unavailable(fakegce.Delete),
		providertest.DeleteLost:      {Call: fakegce.Delete, Done: true, Drop: true},
		providertest.ListUnavailable: unavailable(fakegce.List),
		providertest.Hangs:           {Hold: fakegce.Before},
		providertest.Throttles:       fakegce.TooMany, providertest.Forbids: fakegce.NoRights,
	}[f]
	return out, ok
}

// Inject implements [providertest.World].
func (w *world) Inject(tb testing.TB, f providertest.Fault, on string) {
	tb.Helper()
	if fault, ok := ofCalls(f); ok {
		w.faults[f] = w.Add(fault)
		return
	}
	set := func(change func(o *fakegce.Options)) {
		tb.Helper()
		w.Set(change)
	}
	var err error
	switch f {
	case providertest.NameTaken:
		w.Place(project, zone, on, map[string]string{"made": "by-hand"})
		w.undo[f] = func() { _ = w.Remove("projects/" + project + "/zones/" + zone + "/instances/" + on) }
	case providertest.GetDenies:
		name := on[strings.LastIndexByte(on, '/')+1:]
		w.faults[f] = w.Add(fakegce.Fault{
			Call: fakegce.Get, Name: name, Status: http.StatusNotFound, Reason: "notFound", Message: "The resource '" + on + "' was not found",
		})
	case providertest.AddressLate:
		set(func(o *fakegce.Options) { o.NoAddress = true })
	case providertest.ClockSkew:
		set(func(o *fakegce.Options) { o.Skew = providertest.Skew })
	case providertest.DeleteStalls:
		set(func(o *fakegce.Options) { o.NoEnd = true })
	case providertest.ListPages:
		set(func(o *fakegce.Options) { o.PageSize = 1 })
	case providertest.ListEmptyPage:
		set(func(o *fakegce.Options) { o.EmptyPage = true })
	case providertest.ListRepeats:
		set(func(o *fakegce.Options) { o.Repeat = true })
	case providertest.ListPartial:
		w.SetUnreachable(other, fakegce.AsWarning)
	case providertest.Stops:
		err = w.Stop(on)
	case providertest.Restarts:
		err = w.Restart(on)
	case providertest.Vanishes:
		err = w.Remove(on)
	case providertest.Duplicate:
		w.duplicate(tb, on)
	default:
		tb.Fatalf("no such fault: %s", f)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// duplicate places another instance of the same name and labels in another zone.
func (w *world) duplicate(tb testing.TB, on string) {
	tb.Helper()
	for _, m := range w.Machines() {
		if strings.HasSuffix(on, "/zones/"+m.Zone+"/instances/"+m.Name) {
			w.Place(project, other, m.Name, m.Labels)
			return
		}
	}
	tb.Fatalf("there is no %s", on)
}

// Lift implements [providertest.World].
func (w *world) Lift(_ testing.TB, f providertest.Fault) {
	if id, ok := w.faults[f]; ok {
		w.Cloud.Lift(id)
	}
	if undo := w.undo[f]; undo != nil {
		undo()
	}
	switch f {
	case providertest.ListPartial:
		w.SetUnreachable(other, fakegce.AsNothing)
	case providertest.AddressLate:
		w.Set(func(o *fakegce.Options) { o.NoAddress = false })
	case providertest.ClockSkew:
		w.Set(func(o *fakegce.Options) { o.Skew = 0 })
	case providertest.DeleteStalls:
		w.Set(func(o *fakegce.Options) { o.NoEnd = false })
	case providertest.ListPages, providertest.ListEmptyPage, providertest.ListRepeats:
		w.Set(func(o *fakegce.Options) { o.PageSize, o.EmptyPage, o.Repeat = 0, false, false })
	default:
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Subject{New: func(t *testing.T) providertest.World { return newWorld(t) }})
}
