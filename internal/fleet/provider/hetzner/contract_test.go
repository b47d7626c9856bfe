package hetzner

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hetznercloud/hcloud-go/v2/hcloud/schema"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakehetzner"
)

func TestContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{New: func(t *testing.T) providertest.World { return newWorld(t) }})
}

// The tokens of two projects.
const firstToken, secondToken = "hcloud-token-of-the-first-project", "hcloud-token-of-the-second-project"

// world is a cloud with two projects.
type world struct {
	*fakehetzner.Fake
	url string
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{Fake: fakehetzner.New()}
	w.Token(firstToken, "first")
	w.Token(secondToken, "second")
	s := httptest.NewUnstartedServer(w)
	s.Config.ErrorLog = quiet
	s.Start()
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

func (w world) open(label string) *Provider {
	return New(Options{Cluster: label, Token: firstToken, Endpoint: w.url, Transport: &http.Transport{DisableKeepAlives: true}})
}

func (w world) Open(tb testing.TB, label string) provider.Provider {
	tb.Helper()
	p := w.open(label)
	if _, err := p.Configured(map[string][]byte{TokenKey: []byte(secondToken), ProjectKey: []byte("second")}); err != nil {
		tb.Fatal(err)
	}
	return p
}

func (w world) Request(label, uid string) provider.CreateRequest {
	return provider.CreateRequest{
		Name: provider.NameFromUID(uid), UID: uid, Cluster: label, Hash: strings.Repeat("0123456789abcdef", 4),
		Namespace: "crawl", Proxy: "px", Zone: "fsn1", MachineType: "cx23", Port: 3128, Scheme: "http",
		UserData: []byte("#cloud-config\npassword: " + providertest.Password), Credentials: provider.Credentials{Username: "alice", Password: providertest.Password},
	}
}

func (w world) Step(testing.TB) { w.Fake.Step() }

func (w world) Count(_ testing.TB, name string) int { return w.Fake.Count(name) }

// behaviours are the faults that last.
var behaviours = map[providertest.Fault]fakehetzner.Behaviour{
	providertest.CreateLost:        {Fault: &fakehetzner.Fault{Method: http.MethodPost, Carried: true}},
	providertest.CreateUnavailable: {Fault: &fakehetzner.Fault{Method: http.MethodPost, Status: 503, Code: "maintenance", Message: "cannot perform operation due to maintenance"}},
	providertest.CreateInvalid:     {Fault: &fakehetzner.Fault{Method: http.MethodPost, Status: 422, Code: "invalid_input", Message: "invalid input\nin field 'user_data'"}},
	providertest.QuotaNow:          {Fault: &fakehetzner.Fault{Method: http.MethodPost, Status: 403, Code: "resource_limit_exceeded", Message: "server limit exceeded"}},
	providertest.StockoutNow:       {Fault: &fakehetzner.Fault{Method: http.MethodPost, Status: 412, Code: "resource_unavailable", Message: "we are running out of cx23"}},
	providertest.QuotaLater:        {EndsWith: "resource_limit_exceeded"},
	providertest.StockoutLater:     {EndsWith: "placement_error"},
	providertest.AddressLate:       {NoAddress: true},
	providertest.GetUnavailable:    {Fault: &fakehetzner.Fault{Method: http.MethodGet, Lists: new(false), Status: 500, Code: "server_error", Message: "oops"}},
	providertest.GetDenies:         {Fault: &fakehetzner.Fault{Method: http.MethodGet, Lists: new(false), Status: 404, Code: "not_found", Message: "server not found"}},
	providertest.ClockSkew:         {Ahead: providertest.Skew},
	providertest.DeleteUnavailable: {Fault: &fakehetzner.Fault{Method: http.MethodDelete, Status: 423, Code: "locked", Message: "server is locked"}},
	providertest.DeleteLost:        {Fault: &fakehetzner.Fault{Method: http.MethodDelete, Carried: true}},
	providertest.DeleteStalls:      {DeletesStall: true},
	providertest.ListUnavailable:   {Fault: &fakehetzner.Fault{Lists: new(true), Status: 502, Message: "<html>\nbad gateway"}},
	providertest.ListPartial:       {Fault: &fakehetzner.Fault{Lists: new(true), Project: new("second"), Status: 504, Code: "timeout", Message: "timeout"}},
	providertest.ListPages:         {PageSize: 1},
	providertest.ListEmptyPage:     {EmptyFirst: true},
	providertest.ListRepeats:       {Repeats: true},
	providertest.Hangs:             {Fault: &fakehetzner.Fault{Hangs: true}},
	providertest.Throttles:         {Fault: &fakehetzner.Fault{Status: 429, Code: "rate_limit_exceeded", Message: "limit of 3600 requests per hour reached"}},
	providertest.Forbids:           {Fault: &fakehetzner.Fault{Status: 403, Code: "forbidden", Message: "insufficient permissions for this request"}},
}

func (w world) Inject(tb testing.TB, f providertest.Fault, on string) {
	tb.Helper()
	if b, ok := behaviours[f]; ok {
		w.Behave(b)
		return
	}
	if f == providertest.NameTaken {
		w.Put("first", on, nil)
		return
	}
	at, err := parseID(on)
	if err != nil {
		tb.Fatal(err)
	}
	switch f {
	case providertest.Stops:
		w.Edit(at.server, func(s *schema.Server) { s.Status = "off" })
	case providertest.Restarts:
		w.Edit(at.server, func(s *schema.Server) { s.PublicNet.IPv4.IP = "198.51.100.7" })
	case providertest.Vanishes:
		w.Drop(at.server)
	case providertest.Duplicate:
		r := w.Fake.Request(at.server)
		w.Put("second", r.Name, r.Labels)
	default:
		tb.Fatalf("no such fault: %s", f)
	}
}

func (w world) Lift(testing.TB, providertest.Fault) { w.Behave(fakehetzner.Behaviour{}) }
