package leases

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// two are two Proxies of one lease each.
func two(t *testing.T) files {
	t.Helper()
	f := newFiles(t)
	f.write("p.yaml", external("crawl", "a", accepts(t), ", capacity: {maxLeases: 1}"), external("crawl", "b", accepts(t), ", capacity: {maxLeases: 1}"))
	return f
}

// exits is how long a SIGTERM may take.
const exits = 10 * time.Second

// TestARestartKeepsWhatWasLeased: leases, idempotency keys, sessions, cooldowns. Who waits
// is answered before the process ends.
func TestARestartKeepsWhatWasLeased(t *testing.T) {
	f := two(t)
	p := f.run()
	first := p.eventually(201, "POST", "/v1/leases", `{"ttlSeconds":600,"session":"s","target":"one.example"}`)
	keyed := p.keyed("k", `{"ttlSeconds":600}`)
	if keyed.Status != 201 || keyed.Proxy.Name == first.Proxy.Name {
		t.Fatalf("%+v", keyed)
	}
	p.must(204, "POST", "/v1/leases/"+keyed.LeaseID+"/report", `{"result":"banned","target":"two.example"}`)

	waits := make(chan answer, 1)
	go func() {
		a, _ := p.ask("POST", "/v1/leases?wait=30s", `{}`, "")
		waits <- a
	}()
	cluster.Until(t, eventually, "somebody waits", p.waiting)
	if took := p.stop(syscall.SIGTERM); took > exits {
		t.Errorf("the end took %s", took)
	}
	if a := <-waits; a.Status != 503 {
		t.Errorf("who waited is told %d %s", a.Status, a.Text)
	}

	p = f.run()
	p.eventually(200, "PUT", "/v1/leases/"+first.LeaseID, `{"ttlSeconds":600}`)
	if again := p.keyed("k", `{"ttlSeconds":600}`); again.LeaseID != keyed.LeaseID {
		t.Errorf("the key gives lease %s, was %s: %s", again.LeaseID, keyed.LeaseID, again.Text)
	}
	if other := p.keyed("k", `{"ttlSeconds":300}`); other.Status != 422 {
		t.Errorf("the key with another request: %d", other.Status)
	}
	p.must(409, "POST", "/v1/leases", `{}`)
	for _, l := range []answer{first, keyed} {
		p.must(204, "DELETE", "/v1/leases/"+l.LeaseID, "")
	}
	if a := p.must(201, "POST", "/v1/leases", `{"session":"s","target":"one.example"}`); a.Rebound || a.Proxy.Name != first.Proxy.Name {
		t.Errorf("the session has %s, had %s", a.Proxy.Name, first.Proxy.Name)
	}
	if a := p.must(409, "POST", "/v1/leases", `{"target":"two.example"}`); a.InCooldown != 1 || a.AtCapacity != 1 {
		t.Errorf("the cooldown is gone: %s", a.Text)
	}
}

// keyed asks for a lease with an Idempotency-Key.
func (p *process) keyed(key, body string) answer {
	p.Helper()
	a, err := p.ask("POST", "/v1/leases", body, key)
	if err != nil {
		p.Fatal(err)
	}
	return a
}

func TestSIGKILLLosesASecondAtMost(t *testing.T) {
	f := two(t)
	p := f.run()
	a := p.eventually(201, "POST", "/v1/leases", `{"ttlSeconds":600}`)
	f.kept(a.LeaseID)
	p.stop(syscall.SIGKILL)
	p = f.run()
	p.eventually(200, "PUT", "/v1/leases/"+a.LeaseID, `{"ttlSeconds":600}`)
}

// kept waits until a lease is written down.
func (f files) kept(id string) {
	f.Helper()
	cluster.Until(f.T, eventually, "the lease is written down", func(context.Context) error {
		text, err := os.ReadFile(f.checkpoint())
		if err == nil && !bytes.Contains(text, []byte(id)) {
			err = errors.New("it is not")
		}
		return err
	})
}

// TestADamagedCheckpoint is told loudly, kept aside, and nobody is refused for it.
func TestADamagedCheckpoint(t *testing.T) {
	f := two(t)
	p := f.run()
	a := p.eventually(201, "POST", "/v1/leases", `{"ttlSeconds":600}`)
	f.kept(a.LeaseID)
	p.stop(syscall.SIGTERM)
	text, err := os.ReadFile(f.checkpoint())
	if err == nil {
		err = os.WriteFile(f.checkpoint(), text[:len(text)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p = f.run()
	p.eventually(201, "POST", "/v1/leases", `{}`)
	p.must(404, "PUT", "/v1/leases/"+a.LeaseID, `{}`)
	if !strings.Contains(p.log.String(), "level=ERROR") || !strings.Contains(p.log.String(), "cannot be read: proxies are leased as if there were none") {
		t.Error("it says nothing of it")
	}
	if aside, err := os.ReadFile(f.checkpoint() + ".unreadable"); err != nil || !bytes.Equal(aside, text[:len(text)/2]) {
		t.Errorf("kept aside: %v", err)
	}
}
