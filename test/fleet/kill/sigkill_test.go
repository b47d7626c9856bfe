package kill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/standalone/state"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

// TestSIGKILL kills the real binary while a call of it hangs, once on every path and at
// its most dangerous call: what was asked for is carried out, and nobody has heard of it.
func TestSIGKILL(t *testing.T) {
	for _, c := range []struct {
		name string
		// before and act bring the fleet to where it makes the call.
		before, act func(*machineRoom)
		at          []fakegce.Fault
		after       func(*machineRoom)
		so          func(*machineRoom) error
	}{
		{
			name: "create", act: (*machineRoom).write, so: (*machineRoom).serves,
			at: []fakegce.Fault{{Call: fakegce.Insert, Hold: fakegce.After}},
		},
		{
			name: "adopt", act: (*machineRoom).write, so: (*machineRoom).serves,
			at: []fakegce.Fault{{Call: fakegce.Insert, Hold: fakegce.After}, {Call: fakegce.List, Hold: fakegce.After}},
		},
		{
			name: "replace", before: (*machineRoom).running, so: (*machineRoom).servesAnew,
			act: func(m *machineRoom) { m.port++; m.write() },
			at:  []fakegce.Fault{{Call: fakegce.Delete, Hold: fakegce.After}, {Call: fakegce.Insert, Hold: fakegce.After}},
		},
		{
			name: "delete", before: (*machineRoom).running, act: (*machineRoom).erase, so: (*machineRoom).empty,
			at: []fakegce.Fault{{Call: fakegce.Delete, Hold: fakegce.After}},
		},
		{
			name: "delete what was not written down", act: (*machineRoom).write, so: (*machineRoom).empty,
			at:    []fakegce.Fault{{Call: fakegce.Insert, Hold: fakegce.After}},
			after: (*machineRoom).erase,
		},
		{
			name: "sweep", before: (*machineRoom).running, act: (*machineRoom).plant, so: (*machineRoom).serves,
			at: []fakegce.Fault{{Call: fakegce.Delete, Hold: fakegce.Before}},
		},
		{
			name: "retry after an asynchronous failure", so: (*machineRoom).servesWhenAskedAgain,
			act:   func(m *machineRoom) { m.begin(m.T, quotaLater, ""); m.write() },
			at:    []fakegce.Fault{{Call: fakegce.Operation, Hold: fakegce.After}},
			after: func(m *machineRoom) { m.end(m.T, quotaLater) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachineRoom(t)
			if c.before != nil {
				c.before(m)
			}
			for i, at := range c.at {
				m.killAt(at, func() {
					if i == 0 && c.act != nil {
						c.act(m)
					}
				})
			}
			if c.after != nil {
				c.after(m)
			}
			m.start()
			m.eventually(c.name, c.so)
			m.othersStay()
			t.Logf("killed %d times", len(c.at))
		})
	}
}

// machineRoom is one machine with a fleet, and its cloud.
type machineRoom struct {
	*testing.T
	*gceWorld
	*binary
	config, state string
	port          int
	retry         string
	first         string // hash of the instance that ran first
}

const others = "others"

func newMachineRoom(t *testing.T) *machineRoom {
	t.Helper()
	m := &machineRoom{T: t, config: t.TempDir(), state: filepath.Join(t.TempDir(), "state"), port: 3128}
	m.gceWorld = newGCEWorld(t, startCloud(t), newClock())
	m.hurry(t)
	m.must(t, m.Place(t.Context(), fakegce.Machine{Project: project, Zone: m.zones()[0], Name: others, Labels: map[string]string{
		egress_v1alpha1.UIDLabel: nobodys(), egress_v1alpha1.ClusterLabel: theirs,
	}}))
	m.put("auth.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: auth, namespace: crawl}\nstringData: {username: crawler, password: first-password}\n")
	for _, name := range []string{"b", "c", "d"} { // so that a is never most of the fleet
		m.put(name+".yaml", fmt.Sprintf("apiVersion: egress.gatehouse.dev/v1alpha1\nkind: Proxy\nmetadata: {name: %s, namespace: crawl}\nspec: {mode: External, endpoint: {host: 127.0.0.9, port: 3128}}\n", name))
	}
	m.binary = newBinary(t, "--config", m.config, "--state-dir", m.state, "--gcp-endpoint", m.URL)
	return m
}

func (m *machineRoom) put(name, content string) {
	m.Helper()
	m.must(m.T, os.WriteFile(filepath.Join(m.config, name+".new"), []byte(content), 0o600))
	m.must(m.T, os.Rename(filepath.Join(m.config, name+".new"), filepath.Join(m.config, name)))
}

// write writes the Proxy as it is wanted.
func (m *machineRoom) write() {
	m.Helper()
	m.put("a.yaml", fmt.Sprintf(`apiVersion: egress.gatehouse.dev/v1alpha1
kind: Proxy
metadata: {name: a, namespace: crawl, annotations: {egress.gatehouse.dev/retry: %q}}
spec:
  mode: Managed
  provider: gcp
  zone: %s
  machineType: e2-micro
  cloudInit: {inline: "#cloud-config"}
  endpoint: {port: %d}
  auth: {secretRef: {name: auth}}
`, m.retry, m.zones()[0], m.port))
}

func (m *machineRoom) erase() { m.must(m.T, os.Remove(filepath.Join(m.config, "a.yaml"))) }

// killAt lets the fleet run until it makes such a call, and kills it there.
func (m *machineRoom) killAt(call fakegce.Fault, act func()) {
	m.Helper()
	if m.process == nil {
		m.start()
	}
	ctx, cancel := context.WithTimeout(m.Context(), patience)
	defer cancel()
	id, err := m.Add(ctx, call)
	m.must(m.T, err)
	act()
	_, err = m.WaitHeld(ctx)
	m.must(m.T, err)
	m.kill()
	m.must(m.T, m.WaitFree(ctx))
	m.must(m.T, m.Lift(ctx, id))
}

// eventually waits until it is so.
func (m *machineRoom) eventually(what string, so func(*machineRoom) error) {
	m.Helper()
	eventually(m.T, what, func() error { return so(m) })
}

func (m *machineRoom) running() {
	m.Helper()
	m.write()
	m.start()
	m.eventually("it runs", (*machineRoom).serves)
	m.first = m.ours()[0].Labels[egress_v1alpha1.HashLabel]
}

// ours are the instances that the fleet has made, or seems to have.
func (m *machineRoom) ours() (all []fakegce.Machine) {
	for _, it := range m.machines(m.T) {
		if it.Name != others {
			all = append(all, it)
		}
	}
	return all
}

// plant makes an orphan.
func (m *machineRoom) plant() {
	m.Helper()
	cluster, uid := m.ours()[0].Labels[egress_v1alpha1.ClusterLabel], nobodys()
	_, err := m.provider(m.T, cluster).Create(m.Context(), provider.CreateRequest{
		Name: provider.NameFromUID(uid), Cluster: cluster, UID: uid, Hash: hashOf(uid), Zone: m.zones()[1],
		UserData: []byte("#cloud-config\n"), Port: 3128, Scheme: "http", ExternalIP: true,
	})
	m.must(m.T, err)
}

// kept is the Proxy as the state directory has it, nil without.
func (m *machineRoom) kept() *egress_v1alpha1.Proxy {
	files, _ := filepath.Glob(filepath.Join(m.state, "proxies", "*.json"))
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it was replaced
		}
		var file struct{ Value state.Record }
		m.must(m.T, json.Unmarshal(text, &file))
		if file.Value.Proxy.Name == key.Name {
			return file.Value.Proxy
		}
	}
	return nil
}

// serves: the Proxy runs on the one instance there is.
func (m *machineRoom) serves() error {
	all, p := m.ours(), m.kept()
	if p == nil || !lifecycle.Serves(p) || len(all) != 1 || at(all[0]) != p.Status.ProviderID {
		return fmt.Errorf("instances %+v, kept %+v", all, p)
	}
	return nil
}

// servesWhenAskedAgain asks for another try once it is said that the first one failed.
func (m *machineRoom) servesWhenAskedAgain() error {
	if p := m.kept(); p != nil && m.retry == "" && p.Status.LastError != nil && p.Status.LastError.Class == "QuotaExceeded" {
		m.retry = "again"
		m.write()
	}
	return m.serves()
}

func (m *machineRoom) servesAnew() error {
	if err := m.serves(); err != nil {
		return err
	}
	if all := m.ours(); all[0].Labels[egress_v1alpha1.HashLabel] == m.first {
		return fmt.Errorf("it is the first instance still: %+v", all)
	}
	return nil
}

// empty: nothing is left of it.
func (m *machineRoom) empty() error {
	if all, p := m.ours(), m.kept(); p != nil || len(all) > 0 {
		return fmt.Errorf("instances %+v, kept %+v", all, p)
	}
	return nil
}

func (m *machineRoom) othersStay() {
	m.Helper()
	for _, it := range m.machines(m.T) {
		if it.Name == others && it.Status == "RUNNING" {
			return
		}
	}
	m.Error("the instance of another cluster is gone")
}
