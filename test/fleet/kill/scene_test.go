package kill_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

// bound is how long, by the stage's time, anything may take until everything is in
// order again: two sweeps after a start find what was left, and the longest pause is
// shorter.
const bound = time.Hour

// theirs is the other fleet in the same account.
const theirs = "f6e5d4c3-b2a1-4f0e-8d9c-8b7a69584736"

// nobodys is a UID that no Proxy has, and none ever had.
func nobodys() string { return string(uuid.NewUUID()) }

// The Proxy of all paths, and the Secret that it names.
var (
	key  = types.NamespacedName{Namespace: "crawl", Name: "a"}
	auth = types.NamespacedName{Namespace: "crawl", Name: "auth"}
)

// scene is one run of a path.
type scene struct {
	*testing.T
	*stage
	// was is the Proxy before the path began.
	was *egress_v1alpha1.Proxy
	// foreign are the instances of the other fleet.
	foreign []provider.Instance
}

// open sets a stage up, with another fleet on it.
func (p path) open(t *testing.T, s *stage) *scene {
	t.Helper()
	sc := &scene{T: t, stage: s}
	sc.plant(theirs, nobodys(), 0)
	if p.before != nil {
		p.before(sc)
	}
	if sc.was = sc.proxy(); sc.was != nil && len(sc.zones()) > 2 {
		sc.plant(theirs, string(sc.was.UID), 2)
	}
	sc.advance(t, time.Minute)
	sc.advance(t, time.Minute)
	sc.foreign = sc.instances(theirs)
	if p.act != nil {
		p.act(sc)
	}
	return sc
}

// zone returns the name of one, empty without zones.
func (sc *scene) zone(i int) string {
	if i < len(sc.zones()) {
		return sc.zones()[i]
	}
	return ""
}

// plant makes an instance that nobody writes down.
func (sc *scene) plant(cluster, uid string, zone int) {
	sc.Helper()
	_, err := sc.world.provider(sc.T, cluster).Create(sc.Context(), provider.CreateRequest{
		Name: provider.NameFromUID(uid), Cluster: cluster, UID: uid, Hash: hashOf(cluster, uid, strconv.Itoa(zone)), Namespace: key.Namespace, Proxy: "planted",
		Zone: sc.zone(zone), Port: 3128, Scheme: "http", UserData: []byte("#cloud-config\n"), ExternalIP: true,
		Credentials: provider.Credentials{Username: "crawler", Password: "planted"},
	})
	if err != nil {
		sc.Fatalf("plant an instance of %s: %v", cluster, err)
	}
}

// hashOf is a hash that no instance has which an operator makes.
func hashOf(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, " "))))
}

// instances are all of a fleet, sorted.
func (sc *scene) instances(cluster string) []provider.Instance {
	sc.Helper()
	all := sc.world.instances(sc.T, cluster)
	slices.SortFunc(all, func(a, b provider.Instance) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// proxy is the one that the path is about, nil without.
func (sc *scene) proxy() *egress_v1alpha1.Proxy {
	sc.Helper()
	for _, p := range sc.proxies(sc.T) {
		if p.Name == key.Name {
			return p
		}
	}
	return nil
}

// state is what a failed test has to say.
func (sc *scene) state() string {
	text := "no Proxy"
	if p := sc.proxy(); p != nil {
		text = fmt.Sprintf("Proxy %s, generation %d, finalizers %q, deleted %v, status %+v", p.UID, p.Generation, p.Finalizers, p.DeletionTimestamp, p.Status)
	}
	return fmt.Sprintf("%s; instances %+v", text, sc.instances(sc.cluster()))
}

// until runs an operator that nobody ends.
func (sc *scene) until(so func(*scene) bool) {
	sc.Helper()
	if sc.processes != nil {
		sc.processes.until(sc, so)
		return
	}
	if _, done := start(sc.T, sc.stage, -1).run(sc.T, func() bool { return so(sc) }, bound); !done {
		sc.Fatalf("the path does not begin: %s", sc.state())
	}
}

// endAfter runs an operator until it has made such a call, and ends it there.
func (sc *scene) endAfter(call string) {
	sc.Helper()
	if sc.processes != nil {
		sc.processes.killAt(sc, fakegce.After, call)
		return
	}
	o := start(sc.T, sc.stage, -1)
	o.after = func(made string) {
		if made == call {
			o.stop()
		}
	}
	if o.run(sc.T, func() bool { return false }, bound); !o.fell {
		sc.Fatalf("there was no call %q among %q", call, o.calls)
	}
}

// reason is that of the condition Provisioned.
func (sc *scene) reason() string {
	sc.Helper()
	p := sc.proxy()
	if p == nil {
		return ""
	}
	if c := lifecycle.Condition(p, egress_v1alpha1.Provisioned); c != nil {
		return c.Reason
	}
	return ""
}
