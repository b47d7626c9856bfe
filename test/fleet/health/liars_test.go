package health

import (
	"context"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

const password = "s3cret-of-bob"

var secret = &core_v1.Secret{Data: map[string][]byte{"username": []byte("bob"), "password": []byte(password)}}

// object is an external proxy at an address, as its owner writes it, one good or bad
// probe of which is a verdict.
func object(name string, at net.Addr, r row) *egress_v1alpha1.Proxy {
	tcp := at.(*net.TCPAddr)
	p := &egress_v1alpha1.Proxy{
		Namespace: "crawl", Name: name, UID: types.UID(name), Generation: 1,
		Spec: egress_v1alpha1.ProxySpec{
			Mode:     egress_v1alpha1.External,
			Endpoint: &egress_v1alpha1.Endpoint{Host: tcp.IP.String(), Port: int32(tcp.Port), Scheme: r.scheme}, //nolint:gosec // a port
			Auth:     &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "auth"}},
			HealthCheck: &egress_v1alpha1.HealthCheck{
				URL: r.url, Interval: &meta_v1.Duration{Duration: time.Hour}, SuccessThreshold: 1, FailureThreshold: 1,
				Timeout: &meta_v1.Duration{Duration: 30 * time.Second},
			},
		},
	}
	if r.scheme == egress_v1alpha1.HTTPS {
		p.Spec.TLS = &egress_v1alpha1.TLS{CASecretRef: &egress_v1alpha1.LocalRef{Name: "ca"}}
	}
	if r.want == health.Timeout {
		p.Spec.HealthCheck.Timeout.Duration = 3 * time.Second
	}
	if r.edit != nil {
		r.edit(p)
	}
	running(p)
	return p
}

// running is what the reconciler makes of an external proxy.
func running(p *egress_v1alpha1.Proxy) {
	a := lifecycle.Next(&lifecycle.State{Proxy: p, Now: time.Now()})
	egress := p.Status.EgressIP
	p.Status = a.Proxy.Status
	p.Status.EgressIP = egress
}

// probed is what an engine is told of an object.
func probed(t *testing.T, p *egress_v1alpha1.Proxy) health.Proxy {
	t.Helper()
	s := secret
	if p.Spec.Mode == egress_v1alpha1.Managed {
		s = &core_v1.Secret{Data: map[string][]byte{"lease-key": []byte(strings.Repeat("k", 32))}}
	}
	out, there := health.FromProxy(p, offer.Of(p, s), proxies.pem, "")
	if !there {
		t.Fatalf("%s: nothing to probe: %+v", p.Name, p.Status)
	}
	return out
}

// liars are all that there are, listening, with their objects.
func liars(t *testing.T) (map[string]row, map[string]*egress_v1alpha1.Proxy) {
	t.Helper()
	rows, objects := map[string]row{}, map[string]*egress_v1alpha1.Proxy{}
	for _, some := range []map[string]row{plain(), tunnelled(), secured(), socks()} {
		maps.Copy(rows, some)
	}
	for name, r := range rows {
		objects[name] = object(name, listen(t, "tcp", "127.0.0.1:0", r.serve), r)
	}
	closed := must(net.Listen("tcp", "127.0.0.1:0"))
	_ = closed.Close()
	rows["nobody listens"] = row{scheme: egress_v1alpha1.HTTP, url: clear, want: health.Dial, says: "refused"}
	objects["nobody listens"] = object("nobody listens", closed.Addr(), rows["nobody listens"])
	rows["IPv6"] = row{scheme: egress_v1alpha1.HTTP, url: clear, want: health.OK}
	objects["IPv6"] = object("IPv6", listen(t, "tcp", "[::1]:0", does(request, say(ok+empty))), rows["IPv6"])
	return rows, objects
}

// TestProxiesThatLie: an engine finds of each what it does, and the condition says it,
// without a word of the credentials.
func TestProxiesThatLie(t *testing.T) {
	rows, objects := liars(t)
	e, emitted := engine(t)
	for _, p := range objects {
		e.Set(probed(t, p), time.Now())
	}
	for range objects {
		name := strings.TrimPrefix(<-emitted, "crawl/")
		t.Run(name, func(t *testing.T) { found(t, e, objects[name], rows[name]) })
	}
}

// engine is one that runs until the test ends, and the keys that it emits.
func engine(t *testing.T) (*health.Engine, <-chan string) {
	t.Helper()
	emitted := make(chan string, 1000)
	e := health.New(health.Options{Emit: func(key string) bool {
		emitted <- key
		return true
	}})
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { e.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		run.Wait()
	})
	return e, emitted
}

var reasons = map[health.Class]string{
	health.OK: egress_v1alpha1.ReasonProbeOK, health.AuthFailed: egress_v1alpha1.ReasonAuthFailed,
	health.BadStatus: egress_v1alpha1.ReasonBadStatus, health.WrongEgress: egress_v1alpha1.ReasonWrongEgress,
}

// found compares what an engine has found of a proxy, and what comes to its status.
func found(t *testing.T, e *health.Engine, p *egress_v1alpha1.Proxy, want row) {
	t.Helper()
	look, _ := e.Look("crawl/" + p.Name)
	if look.Last.Class != want.want || !strings.Contains(look.Last.Message, want.says) {
		t.Errorf("class %s: %q; want %s: %q", look.Last.Class, look.Last.Message, want.want, want.says)
	}
	v, there := e.Snapshot(p)
	if !there {
		t.Fatal("no verdict")
	}
	lifecycle.ApplyHealth(p, v, time.Now())
	c := lifecycle.Condition(p, egress_v1alpha1.Healthy)
	reason := reasons[want.want]
	if reason == "" {
		reason = egress_v1alpha1.ReasonProbeFailed
	}
	if c.Reason != reason || (c.Status == meta_v1.ConditionTrue) != (want.want == health.OK) {
		t.Errorf("condition %+v, want %s", c, reason)
	}
	for _, hidden := range []string{password, "Ym9iOnMzY3JldC1vZi1ib2I="} {
		if strings.Contains(c.Message, hidden) || strings.ContainsAny(c.Message, "\r\n\x00") {
			t.Errorf("message %q", c.Message)
		}
	}
}

// TestAThousandLiesLeaveNothingBehind: no goroutine and no descriptor, on either side.
func TestAThousandLiesLeaveNothingBehind(t *testing.T) {
	_, objects := liars(t)
	var all []health.Proxy
	for _, p := range objects {
		q := probed(t, p)
		q.Check.Timeout = min(q.Check.Timeout, 5*time.Second)
		all = append(all, q)
	}
	round := func(n int) {
		slots := make(chan struct{}, 100)
		var probes sync.WaitGroup
		for i := range n {
			slots <- struct{}{}
			probes.Go(func() {
				health.Probe(t.Context(), all[i%len(all)])
				<-slots
			})
		}
		probes.Wait()
	}
	round(len(all)) // what is made once is there
	goroutines, files := settle(t, 0, 0)
	round(1000)
	settle(t, goroutines, files)
}

// settle waits until there are no more goroutines and descriptors than that, or with 0
// until their numbers stay, and returns them.
func settle(t *testing.T, goroutines, files int) (int, int) {
	t.Helper()
	last := []int{0, 0}
	same := 0
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		now := []int{runtime.NumGoroutine(), len(must(os.ReadDir("/proc/self/fd")))}
		if same++; !slices.Equal(now, last) {
			same, last = 0, now
		}
		if goroutines == 0 && same >= 10 || goroutines > 0 && now[0] <= goroutines && now[1] <= files {
			return now[0], now[1]
		}
	}
	t.Fatalf("%d goroutines and %d descriptors, before %d and %d", last[0], last[1], goroutines, files)
	return 0, 0
}
