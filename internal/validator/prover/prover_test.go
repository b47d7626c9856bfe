package prover_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/validator/prover"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/proving"
)

func scopedName(r xdsserve.Resource) xdsserve.Scoped {
	return xdsserve.Scoped{Group: r.Group, Name: r.Name}
}

// blames is whether a refusal names exactly one resource.
func blames(refusals []validator.Refusal, r xdsserve.Resource) bool {
	return len(refusals) == 1 && slices.Equal(refusals[0].Resources, []xdsserve.Scoped{scopedName(r)})
}

// A refusal names the one resource at fault, of all types, among good ones that are
// accepted without it.
func TestRefusalsNameResources(t *testing.T) {
	r := newRig(t, prover.Options{})
	pair, err := tlsutil.SelfSigned(tlsutil.From(time.Now(), time.Hour), "a.example")
	must(t, err)
	r.accepts(cluster(edge, "app"), table(edge, "shop/edge/80", virtualHost("a.example", "")), listener(edge, "shop/edge/80", "127.0.0.1", 80))
	for name, bad := range map[string]xdsserve.Resource{
		"cluster":  badCluster(edge, "bad"),
		"table":    table(edge, "shop/edge/80", virtualHost("a.example", ""), virtualHost("b.example", badExpression)),
		"scope":    scope(edge, "80/b.example", virtualHost("b.example", badExpression)),
		"listener": listener(edge, "again", "127.0.0.1", 80),
		"domains":  table(edge, "shop/edge/81", virtualHost("a.example", ""), virtualHost("A.example", "")),
		"bytes":    sealed(edge, xdsserve.Cluster, "bytes", []byte{0xff}),
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			good := cluster(edge, "beside "+name)
			if refusals := r.refuses(good, bad); !blames(refusals, bad) {
				t.Errorf("refusals %+v, want one of %s", refusals, bad.Name.Name)
			}
			r.accepts(good)
		})
	}
	t.Run("secret", func(t *testing.T) {
		r.t = t
		bad := secret(edge, "bad", pair.Cert, []byte("no key"))
		refusals := r.refuses(bad, listener(edge, "tls", "127.0.0.1", 443, withCertificate("bad")))
		if !blames(refusals, bad) {
			t.Errorf("refusals %+v, want one of the secret", refusals)
		}
		r.accepts(secret(edge, "bad", pair.Cert, pair.Key), listener(edge, "tls", "127.0.0.1", 443, withCertificate("bad")))
	})
}

// What a refusal says is one line about the names that were judged.
func TestRefusalsSay(t *testing.T) {
	r := newRig(t, prover.Options{})
	for _, test := range []struct {
		bad  xdsserve.Resource
		want string
	}{
		{table(edge, "shop/edge/80", virtualHost("b.example", badExpression)), `virtual host "b.example": missing ): (`},
		{badCluster(edge, "bad"), "Error adding/updating cluster(s) bad: "},
	} {
		said := r.refuses(test.bad)[0].Message
		if !strings.HasPrefix(said, test.want) || strings.Contains(said, "\n") || strings.Contains(said, edge+"|") {
			t.Errorf("it says %q, want %q", said, test.want)
		}
	}
}

// Several Gateways share the proving Envoy: names, addresses and ports that they have in
// common are nobody's fault. Addresses of one Gateway are.
func TestGatewaysShareNothing(t *testing.T) {
	r := newRig(t, prover.Options{})
	for _, group := range []string{edge, other} {
		r.accepts(cluster(group, "app"), scope(group, "80/", virtualHost("*", "")), scope(group, "80/a.example", virtualHost("a.example", "")),
			listener(group, group+"/80", "0.0.0.0", 80), listener(group, group+"/81", "::", 80), listener(group, group+"/82", "10.0.0.1", 80),
			listener(group, group+"/udp", "0.0.0.0", 80, ofDatagrams))
	}
	taken := listener(other, "taken", "10.0.0.1", 80)
	if refusals := r.refuses(taken); !blames(refusals, taken) {
		t.Errorf("refusals %+v", refusals)
	}
	datagrams := listener(other, "taken too", "0.0.0.0", 80, ofDatagrams)
	if refusals := r.refuses(datagrams); !blames(refusals, datagrams) {
		t.Errorf("refusals %+v", refusals)
	}
}

// After a refusal all is as before: what was removed or changed is back, what was added is not.
func TestBackToBaseline(t *testing.T) {
	r := newRig(t, prover.Options{})
	first, second := listener(edge, "first", "127.0.0.1", 80), listener(edge, "second", "127.0.0.1", 80)
	r.accepts(first)
	v := r.try(xdsserve.Update{Set: []xdsserve.Resource{second, badCluster(edge, "bad")}, Remove: []xdsserve.Scoped{scopedName(first)}})
	if len(v.Refusals) != 1 {
		t.Fatalf("verdict %+v", v)
	}
	if refusals := r.refuses(second); !blames(refusals, second) {
		t.Errorf("refusals %+v: the first listener is not back at its address", refusals)
	}
	if v := r.try(xdsserve.Update{Set: []xdsserve.Resource{second}, Remove: []xdsserve.Scoped{scopedName(first)}}); len(v.Refusals) > 0 {
		t.Errorf("verdict %+v: the listener that was removed is in the way", v)
	}
}

// A content that was refused is refused at once when it comes again, and not sent.
func TestRefusedContentIsRemembered(t *testing.T) {
	r := newRig(t, prover.Options{})
	bad := badCluster(edge, "bad")
	first := r.refuses(bad)
	published := r.Published()
	again := r.refuses(cluster(edge, "good"), bad)
	if !slices.EqualFunc(first, again, func(a, b validator.Refusal) bool { return a.Message == b.Message && blames(again, bad) }) {
		t.Errorf("first %+v, then %+v", first, again)
	}
	if r.Published() != published {
		t.Error("it was published again")
	}
	r.accepts(cluster(edge, "bad"))
}

// Names that do not resolve and endpoints that are not there are nothing to wait for.
func TestNothingIsWaitedFor(t *testing.T) {
	r := newRig(t, prover.Options{})
	r.accepts(cluster(edge, "app"))
	began := time.Now()
	slow := slowCluster(edge, "slow")
	slow.SlowToWarm = true
	r.accepts(slow, cluster(edge, "without endpoints"), scope(edge, "80/a.example", virtualHost("a.example", "")))
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %s", took)
	}
}

// A candidate that ends the proving Envoy once is tried again, and is accepted.
func TestEnvoyDiesOnce(t *testing.T) {
	r := newRig(t, prover.Options{})
	r.accepts(cluster(edge, "app"))
	deaths := 0
	r.Before = func(u xdsserve.Update) {
		if deaths == 0 && sets(u, "deadly") {
			deaths++
			r.Signal(unix.SIGKILL)
		}
	}
	r.accepts(cluster(edge, "beside"), cluster(edge, "deadly"))
	if _, starts := r.Process(); deaths != 1 || starts != 2 {
		t.Errorf("%d deaths, %d starts", deaths, starts)
	}
}

// A candidate that ends it twice is refused, and what it ended of is named; the next
// candidate meets one that has the baseline.
func TestEnvoyDiesTwice(t *testing.T) {
	r := newRig(t, prover.Options{})
	r.accepts(listener(edge, "first", "127.0.0.1", 80))
	r.Before = func(u xdsserve.Update) {
		if sets(u, "deadly") {
			r.Signal(unix.SIGKILL)
		}
	}
	deadly := cluster(edge, "deadly")
	refusals := r.refuses(cluster(edge, "beside"), deadly, cluster(edge, "and"))
	if !blames(refusals, deadly) || refusals[0].Reason != verdict.CrashesProxy {
		t.Fatalf("refusals %+v", refusals)
	}
	if !strings.Contains(refusals[0].Message, "SIGKILL") {
		t.Errorf("it says %q", refusals[0].Message)
	}
	taken := listener(edge, "second", "127.0.0.1", 80)
	if refusals := r.refuses(taken); !blames(refusals, taken) {
		t.Errorf("refusals %+v: the baseline is not back", refusals)
	}
	_, before := r.Process()
	r.refuses(deadly)
	if _, after := r.Process(); after != before {
		t.Error("it died again of what is known to end it")
	}
}

func sets(u xdsserve.Update, name string) bool {
	return slices.ContainsFunc(u.Set, func(r xdsserve.Resource) bool { return r.Name.Name == edge+"|"+name })
}

// One that hangs gives no verdict, is ended, and its successor gives one.
func TestEnvoyHangs(t *testing.T) {
	r := newRig(t, prover.Options{Patience: 200 * time.Millisecond})
	r.accepts(listener(edge, "first", "127.0.0.1", 80))
	r.Signal(unix.SIGSTOP)
	began := time.Now()
	if v := r.try(xdsserve.Update{Set: []xdsserve.Resource{badCluster(edge, "bad")}}); v.Unavailable == "" || len(v.Refusals) > 0 {
		t.Fatalf("verdict %+v of an Envoy that hangs", v)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s to give up", took)
	}
	bad := badCluster(edge, "bad")
	if refusals := r.refuses(bad); !blames(refusals, bad) {
		t.Errorf("refusals %+v of its successor", refusals)
	}
	taken := listener(edge, "second", "127.0.0.1", 80)
	if refusals := r.refuses(taken); !blames(refusals, taken) {
		t.Errorf("refusals %+v: its successor lacks the baseline", refusals)
	}
}

// Without a proving Envoy there is no verdict: the first trial waits for one to come
// up, the next ones do not, until one is there.
func TestWithoutEnvoy(t *testing.T) {
	r := &rig{proving.New(t, prover.Options{Start: 50 * time.Millisecond}), t}
	bad := badCluster(edge, "bad")
	for range 2 {
		if v := r.try(xdsserve.Update{Set: []xdsserve.Resource{bad}}); v.Unavailable != "it is not connected" {
			t.Fatalf("verdict %+v", v)
		}
	}
	r.Begin()
	proving.Until(t, "it is there", func() bool { return r.Unavailable() == "" })
	r.refuses(bad)
}
