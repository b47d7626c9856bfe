package discovery_test

import (
	"net/url"
	"testing"
	"time"
)

// TestLease walks the life of a lease.
func TestLease(t *testing.T) {
	w := start(t)

	granted := w.ask(t, "POST", "/v1/leases", `{"selector":{"country":"de"},"target":"Shop.Example:443","ttlSeconds":60}`)

	granted.want(t, 201, "proxy.name", "de-1", "proxy.namespace", "crawl", "proxy.url", "http://192.0.2.1:3128", "proxy.host", "192.0.2.1",
		"proxy.port", 3128.0, "proxy.scheme", "http", "proxy.ip", "192.0.2.1", "proxy.attributes.country", "de", "proxy.latencyMillis", 20.0,
		"proxy.healthy", true, "proxy.activeLeases", 1.0, "proxy.username", nil, "proxy.password", nil,
		"target", "shop.example", "ttlSeconds", 60.0, "expiresAt", "2026-11-30T19:01:00.123Z", "rebound", false)
	id, _ := granted.at("leaseID").(string)
	w.now = w.now.Add(30 * time.Second)
	w.ask(t, "PUT", "/v1/leases/"+id, `{"ttlSeconds":3600}`).want(t, 200, "leaseID", id, "expiresAt", "2026-11-30T20:00:30.123Z", "proxy", nil, "coolingUntil", nil)
	w.ask(t, "POST", "/v1/leases/"+id+"/report", `{"result":"banned"}`).want(t, 204)
	w.ask(t, "PUT", "/v1/leases/"+id, `{"ttlSeconds":60}`).want(t, 200, "expiresAt", "2026-11-30T19:01:30.123Z", "coolingUntil", "2026-11-30T19:10:30.123Z")
	w.ask(t, "DELETE", "/v1/leases/"+id, "").want(t, 204)
	w.ask(t, "DELETE", "/v1/leases/"+id, "").want(t, 204)
	w.ask(t, "PUT", "/v1/leases/"+id, `{}`).want(t, 404, "error", "unknown_lease")
	w.ask(t, "POST", "/v1/leases/"+id+"/report", `{"result":"ok","target":"other.example"}`).want(t, 204)
	w.ask(t, "POST", "/v1/leases", `{"selector":{"country":"de"},"target":"shop.example"}`).want(t, 201, "proxy.name", "de-2")
}

// TestCredentials: whoever gets a lease gets what the proxy asks for, in the URL too.
func TestCredentials(t *testing.T) {
	w := start(t)

	fixed := w.ask(t, "POST", "/v1/leases", `{"selector":{"kind":"vm"}}`)
	own := w.ask(t, "POST", "/v1/leases", `{"selector":{"country":"fr"}}`)

	fixed.want(t, 201, "proxy.username", "bob", "proxy.password", "p@ss/word", "proxy.url", "http://bob:p%40ss%2Fword@[2001:db8::2]:3128")
	id, _ := own.at("leaseID").(string)
	own.want(t, 201, "proxy.username", id+".1796065500")
	u, err := url.Parse(own.at("proxy.url").(string)) //nolint:forcetypeassert // compared above
	if err != nil {
		t.Fatal(err)
	}
	if password, _ := u.User.Password(); password != own.at("proxy.password") || u.User.Username() != own.at("proxy.username") {
		t.Errorf("the URL %v has other credentials than %s", u, own.body)
	}
	w.ask(t, "PUT", "/v1/leases/"+id, `{"ttlSeconds":600}`).want(t, 200, "proxy.username", id+".1796065800")
	w.now = w.now.Add(time.Hour)
	w.ask(t, "PUT", "/v1/leases/"+id, `{}`).want(t, 404)
}
