package standalone

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// known returns what the fleet says of the Proxy default/name.
func (m *machine) known(name string) explain.Known {
	fleet, err := m.fleet.Fleet(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	for _, k := range fleet.Proxies {
		if k.Name == name {
			return k
		}
	}
	return explain.Known{}
}

// TestAFailureHoldsNobodyElseUp: one Proxy fails, waits, and says so; the others go on.
func TestAFailureHoldsNobodyElseUp(t *testing.T) {
	m := newMachine(t)
	m.start()
	m.core.mu.Lock()
	m.core.fail = func(key types.NamespacedName) error {
		switch key.Name {
		case "bad":
			return errors.New("disk full\nmore")
		case "worse":
			panic("nil map")
		}
		return nil
	}
	m.core.mu.Unlock()
	m.write("all.yaml", managed("bad")+managed("good")+managed("worse"))
	m.eventually("created", m.finalized("good"))
	m.eventually("tried again", func() bool { return m.known("bad").Failures > 1 && m.known("worse").Failures > 1 })
	if k := m.known("bad"); k.Error != "disk full" || k.Next.IsZero() {
		t.Errorf("%+v", k)
	}
	if k := m.known("worse"); !strings.Contains(k.Error, "please report it") {
		t.Errorf("%+v", k)
	}
}

func TestPausesGrow(t *testing.T) {
	if a, b, c := pauseAfter(0), pauseAfter(1), pauseAfter(1000); a != firstPause || b != 2*firstPause || c != lastPause {
		t.Errorf("pauses %s, %s, %s", a, b, c)
	}
	for range 100 {
		if d := jittered(time.Minute); d < time.Minute || d > 66*time.Second {
			t.Fatalf("a minute became %s", d)
		}
	}
}

// TestASecretWakesThoseThatReferToIt: and nobody else.
func TestASecretWakesThoseThatReferToIt(t *testing.T) {
	m := newMachine(t)
	user := strings.Replace(managed("user"), "process}", "process, auth: {secretRef: {name: px}}}", 1)
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: px}\nstringData: {username: u, password: p}\n"
	m.write("a.yaml", user+managed("other"))
	m.start()
	m.eventually("created", m.finalized("user", "other"))
	steps := func(name string) int {
		m.core.mu.Lock()
		defer m.core.mu.Unlock()
		return m.core.steps[types.NamespacedName{Namespace: "default", Name: name}]
	}
	users, others := steps("user"), steps("other")
	m.write("secret.yaml", secret)
	m.eventually("woken", func() bool { return steps("user") > users })
	key := types.NamespacedName{Namespace: "default", Name: "px"}
	if s, err := m.objects.Secret(t.Context(), key); err != nil || string(s.Data["username"]) != "u" {
		t.Errorf("secret %v, error %v", s, err)
	}
	if now := steps("other"); now != others {
		t.Errorf("another Proxy took %d steps", now-others)
	}
	m.remove("secret.yaml")
	m.eventually("forgotten", func() bool { _, err := m.objects.Secret(t.Context(), key); return err != nil })
}

// TestADocumentThatComesBack has its effect once the earlier Proxy is gone.
func TestADocumentThatComesBack(t *testing.T) {
	m := newMachine(t)
	m.write("others.yaml", managed("b")+managed("c"))
	m.write("a.yaml", managed("a"))
	m.start()
	m.eventually("created", m.finalized("a"))
	uid := m.proxy("a").UID
	m.core.mu.Lock()
	m.core.fail = func(key types.NamespacedName) error {
		if key.Name == "a" {
			return errors.New("the instance does not go")
		}
		return nil
	}
	m.core.mu.Unlock()
	m.remove("a.yaml")
	m.eventually("being deleted", func() bool { return m.proxy("a").DeletionTimestamp != nil })
	m.write("a.yaml", strings.Replace(managed("a"), "{name: a}", `{name: a, annotations: {egress.gatehouse.dev/abandon: "true"}}`, 1))
	m.eventually("told that it waits", m.logged("is still being deleted"))
	m.eventually("abandoned", func() bool { return m.proxy("a").Annotations[egress_v1alpha1.AbandonAnnotation] == "true" })
	m.core.mu.Lock()
	m.core.fail = nil
	m.core.mu.Unlock()
	m.eventually("gone", m.gone("a"))
	m.eventually("told that nothing is created", m.logged("nothing is created"))
	m.write("a.yaml", managed("a"))
	m.eventually("created anew", m.finalized("a"))
	if m.proxy("a").UID == uid {
		t.Error("it has the earlier UID")
	}
}

// TestAnAccountThatGoesWithItsProxy stays known until the Proxy is gone: how else would
// its instance be deleted?
func TestAnAccountThatGoesWithItsProxy(t *testing.T) {
	m := newMachine(t)
	m.write("others.yaml", managed("b")+managed("c"))
	m.write("a.yaml", strings.Replace(managed("a"), "process}", "hetzner, machineType: cx23, providerConfigRef: {name: account}}", 1)+
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: account}\nstringData: {token: t, project: p}\n")
	m.start()
	m.eventually("created", m.finalized("a"))
	m.core.mu.Lock()
	m.core.fail = func(key types.NamespacedName) error {
		if key.Name == "a" {
			return errors.New("the instance does not go")
		}
		return nil
	}
	m.core.mu.Unlock()
	m.remove("a.yaml")
	m.eventually("being deleted", func() bool { return m.known("a").Proxy.DeletionTimestamp != nil })
	key := types.NamespacedName{Namespace: "default", Name: "account"}
	if _, err := m.objects.Secret(t.Context(), key); err != nil {
		t.Errorf("while the Proxy is being deleted: %v", err)
	}
	m.core.mu.Lock()
	m.core.fail = nil
	m.core.mu.Unlock()
	m.eventually("gone", m.gone("a"))
	m.eventually("forgotten", func() bool { _, err := m.objects.Secret(t.Context(), key); return err != nil })
}
