package hetzner

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"github.com/hetznercloud/hcloud-go/v2/hcloud/schema"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakehetzner"
)

// quiet keeps quiet about answers that tests abort.
var quiet = log.New(io.Discard, "", 0)

const (
	ours = "0b9a7c52-5f7e-4c8e-9d1b-0c1f2a3b4c5d"
	uid  = "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
)

func wantClass(t *testing.T, err, class error, text string) {
	t.Helper()
	if !errors.Is(provider.Class(err), class) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v; want class %v and %q", err, class, text)
	}
	for _, token := range []string{firstToken, secondToken, providertest.Password} {
		if strings.Contains(err.Error(), token) {
			t.Errorf("a secret is in the error: %v", err)
		}
	}
}

// What arrives at the API is the whole request, and nothing beside it.
func TestRequest(t *testing.T) {
	w := newWorld(t)
	r := w.Request(ours, uid)
	made, err := w.open(ours).Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	at, err := parseID(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	got := w.Fake.Request(at.server)
	if got.PublicNet == nil || !got.PublicNet.EnableIPv4 || !got.PublicNet.EnableIPv6 {
		t.Errorf("public net %+v, want both addresses", got.PublicNet)
	}
	got.PublicNet = nil
	want := fakehetzner.Request{
		Name: "px-" + uid, ServerType: "cx23", Image: "debian-13", Location: "fsn1", UserData: string(r.UserData), StartAfterCreate: new(true),
		Labels: map[string]string{
			"proxy-operator-cluster": ours, "proxy-operator-uid": uid, "proxy-operator-hash": r.Hash[:32], "proxy": "crawl.px",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestCreateRefuses(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		change func(*provider.CreateRequest)
		want   string
	}{
		"no type":        {func(r *provider.CreateRequest) { r.MachineType = "" }, "spec.machineType is empty: name a type of server, such as cx23"},
		"user data":      {func(r *provider.CreateRequest) { r.UserData = make([]byte, 32<<10+1) }, "spec.cloudInit: 32769 bytes of user data: Hetzner takes at most 32768"},
		"unknown type":   {func(r *provider.CreateRequest) { r.MachineType = "cx1" }, "server type cx1 not found (invalid_input)"},
		"unknown image":  {func(r *provider.CreateRequest) { r.Image = "plan9" }, "image plan9 not found (invalid_input)"},
		"unknown place":  {func(r *provider.CreateRequest) { r.Zone = "mars1" }, "location mars1 not found (invalid_input)"},
		"label too long": {func(r *provider.CreateRequest) { r.Cluster = strings.Repeat("a", 64) }, "invalid input in field 'labels' (invalid_input)"},
	} {
		r := w.Request(ours, uid)
		c.change(&r)
		_, err := w.open(ours).Create(t.Context(), r)
		if err == nil {
			t.Errorf("%s: created", name)
			continue
		}
		wantClass(t, err, provider.ErrPermanent, c.want)
	}
	if n := w.Fake.Count("px-" + uid); n > 0 {
		t.Errorf("%d servers", n)
	}
	long := w.Request(ours, uid)
	long.Proxy = strings.Repeat("p", 63)
	if _, err := w.open(ours).Create(t.Context(), long); err != nil {
		t.Errorf("a long name: %v", err)
	}
}

func TestState(t *testing.T) {
	const v4, v6 = "192.0.2.7", "2001:db8:1::/64"
	for _, c := range []struct {
		status hcloud.ServerStatus
		locked bool
		v4, v6 string
		want   provider.State
		ip     string
	}{
		{hcloud.ServerStatusInitializing, true, v4, v6, provider.Provisioning, ""},
		{hcloud.ServerStatusOff, true, v4, v6, provider.Provisioning, ""},
		{hcloud.ServerStatusStarting, true, v4, v6, provider.Provisioning, ""},
		{hcloud.ServerStatusRunning, false, v4, v6, provider.Running, v4},
		{hcloud.ServerStatusRunning, false, "", v6, provider.Running, "2001:db8:1::1"},
		{hcloud.ServerStatusRunning, false, "", "", provider.Provisioning, ""},
		{hcloud.ServerStatusMigrating, true, v4, v6, provider.Running, v4},
		{hcloud.ServerStatusUnknown, false, v4, v6, provider.Running, v4},
		{hcloud.ServerStatusRebuilding, true, v4, v6, provider.Provisioning, ""},
		{hcloud.ServerStatusStopping, false, v4, v6, provider.Stopped, ""},
		{hcloud.ServerStatusOff, false, v4, v6, provider.Stopped, ""},
		{hcloud.ServerStatusDeleting, true, v4, v6, provider.Terminating, ""},
		{"new-in-2027", false, v4, v6, provider.Provisioning, ""},
	} {
		var wire schema.Server
		wire.Status, wire.Locked, wire.PublicNet.IPv4.IP, wire.PublicNet.IPv6.IP = string(c.status), c.locked, c.v4, c.v6
		got, ip := state(hcloud.ServerFromSchema(wire))
		var want netip.Addr
		if c.ip != "" {
			want = netip.MustParseAddr(c.ip)
		}
		if got != c.want || ip != want {
			t.Errorf("%s, locked %t, %q, %q: state %d at %s; want %d at %s", c.status, c.locked, c.v4, c.v6, got, ip, c.want, want)
		}
	}
}

func TestClassOf(t *testing.T) {
	for class, codes := range map[error]string{
		provider.ErrQuotaExceeded: "resource_limit_exceeded resource_unavailable placement_error",
		provider.ErrPermanent:     "unauthorized forbidden invalid_input json_error not_found protected invalid_server_type unsupported_error",
		provider.ErrTransient:     "rate_limit_exceeded locked conflict maintenance timeout bad_gateway service_error server_error unknown_error uniqueness_error and_what_comes",
	} {
		for code := range strings.FieldsSeq(codes) {
			if got := classOf(hcloud.ErrorCode(code)); !errors.Is(got, class) {
				t.Errorf("%s: %v, want %v", code, got, class)
			}
		}
	}
}

// The same refusal is the same text, so that no status is written for it again.
func TestErrorsAreStable(t *testing.T) {
	w := newWorld(t)
	w.Revoke(firstToken)
	p := w.open(ours)
	_, first := p.Get(t.Context(), "42")
	_, again := p.Get(t.Context(), "42")
	wantClass(t, first, provider.ErrPermanent, "refused: look at server 42: the token is invalid (unauthorized)")
	if first.Error() != again.Error() {
		t.Errorf("errors %q, then %q", first, again)
	}
}

func TestIDs(t *testing.T) {
	for _, id := range []string{"1", "47123456", "second/3"} {
		if at, err := parseID(id); err != nil || at.String() != id {
			t.Errorf("%s: %v, %v", id, at, err)
		}
	}
	for _, id := range []string{"", "0", "-1", "+1", "01", "a", "/1", "a/", "A/1", "a/b/1", "9223372036854775808", " 1"} {
		if at, err := parseID(id); !errors.Is(err, provider.ErrNotFound) {
			t.Errorf("%q is %v, %v", id, at, err)
		}
	}
}

// A lying 404 of something in between is no word of the API's.
func TestNotFoundOfAnother(t *testing.T) {
	w := newWorld(t)
	w.Behave(fakehetzner.Behaviour{Fault: &fakehetzner.Fault{Status: http.StatusNotFound, Message: "no such host"}})
	p := w.open(ours)
	_, err := p.Get(t.Context(), "42")
	wantClass(t, err, provider.ErrTransient, "status code 404")
	wantClass(t, p.Delete(t.Context(), "42"), provider.ErrTransient, "status code 404")
}

func TestProtected(t *testing.T) {
	w := newWorld(t)
	p := w.open(ours)
	made, err := p.Create(t.Context(), w.Request(ours, uid))
	if err != nil {
		t.Fatal(err)
	}
	at, _ := parseID(made.ID)
	w.Edit(at.server, func(s *schema.Server) { s.Protection.Delete = true })
	wantClass(t, p.Delete(t.Context(), made.ID), provider.ErrPermanent, "server deletion is protected (protected)")
}
