package gcp

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

const object = `apiVersion: egress.gatehouse.dev/v1alpha1
kind: Proxy
metadata: {name: fra-1, namespace: crawl}
spec: {mode: Managed, provider: gcp, zone: ZONE, cloudInit: {inline: "password: hunter2"}}
`

// scene is a fleet that can be killed, over a service that cannot.
type scene struct {
	*testing.T
	cloud            *fakegce.Cloud
	url, binary, dir string
	operator         *exec.Cmd
	mu               sync.Mutex
	said             bytes.Buffer
	deadline         context.Context
}

// Write keeps what the operators say.
func (s *scene) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(p)
}

func newScene(t *testing.T) *scene {
	t.Helper()
	dir := t.TempDir()
	binary, err := rig.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	cloud := fakegce.New(fakegce.Options{StageAfter: time.Second / 2, RunAfter: time.Second, AddressAfter: time.Second / 2, GoneAfter: time.Second})
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	s := &scene{T: t, cloud: cloud, url: server.URL, binary: binary, dir: dir, deadline: ctx}
	if err := os.Mkdir(filepath.Join(dir, "fleet"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

// start starts an operator over what the last one has left.
func (s *scene) start() {
	s.Helper()
	s.operator = exec.Command(s.binary, "fleet", "--config", filepath.Join(s.dir, "fleet"), "--state-dir", filepath.Join(s.dir, "state"),
		"--providers", "gcp", "--gcp-project", "test-project", "--gcp-endpoint", s.url, "--admin-address", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0", "--lease-address", "127.0.0.1:0")
	s.operator.Stdout, s.operator.Stderr = s, s
	if err := s.operator.Start(); err != nil {
		s.Fatal(err)
	}
}

// kill ends the operator without a word.
func (s *scene) kill() {
	if s.operator != nil && s.operator.ProcessState == nil {
		_ = s.operator.Process.Kill()
		_ = s.operator.Wait()
	}
}

// write replaces the document, whole.
func (s *scene) write(text string) {
	s.Helper()
	next := filepath.Join(s.dir, "next")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(s.dir, "fleet", "proxies.yaml")); err != nil {
		s.Fatal(err)
	}
}

// until waits until the instances are as wanted.
func (s *scene) until(what string, so func([]fakegce.Machine) bool) {
	s.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for !so(s.cloud.Machines()) {
		select {
		case <-again.C:
		case <-s.deadline.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			s.Fatalf("never %s: instances %v\n%s", what, s.cloud.Machines(), s.said.String())
		}
	}
}

// runsIn says whether there is one instance, which runs in the zone.
func runsIn(zone string) func([]fakegce.Machine) bool {
	return func(all []fakegce.Machine) bool {
		return len(all) == 1 && all[0].Zone == zone && all[0].Status == "RUNNING" && all[0].IP != ""
	}
}

// TestKilledWhileItCreates: the instance of which the killed operator never heard is
// taken over by the next one, moves with its object, and goes with it.
func TestKilledWhileItCreates(t *testing.T) {
	s := newScene(t)
	s.cloud.Place("test-project", "europe-west1-b", "database", nil)
	others := func(all []fakegce.Machine) []fakegce.Machine { return all[1:] } // the foreign one is first by name
	s.write(strings.Replace(object, "ZONE", "europe-west1-b", 1))
	held := s.cloud.Add(fakegce.Fault{Call: fakegce.Insert, Hold: fakegce.After})
	s.start()
	if _, err := s.cloud.WaitHeld(s.deadline); err != nil {
		t.Fatalf("no create: %v\n%s", err, s.said.String())
	}
	s.kill()
	s.cloud.Lift(held)
	s.start()
	s.until("taken over", func(all []fakegce.Machine) bool {
		return runsIn("europe-west1-b")(others(all)) && s.looked()
	})
	s.write(strings.Replace(object, "ZONE", "europe-west1-c", 1))
	s.until("moved", func(all []fakegce.Machine) bool { return len(all) == 2 && runsIn("europe-west1-c")(others(all)) })
	s.write("apiVersion: v1\nkind: Secret\nmetadata: {name: other, namespace: crawl}\n---\n" + strings.NewReplacer("ZONE", "europe-west1-c", "fra-1", "fra-2").Replace(object))
	s.until("replaced by the other", func(all []fakegce.Machine) bool {
		return len(all) == 2 && runsIn("europe-west1-c")(others(all)) && s.inserts() == 3
	})
	if broken := s.cloud.Broken(); len(broken) > 0 {
		t.Error(broken)
	}
	s.kill()
	if text := s.said.String(); strings.Contains(text, "hunter2") {
		t.Errorf("user data is in the log:\n%s", text)
	}
}

// looked says whether the instance was asked for since the last insert.
func (s *scene) looked() bool {
	calls := s.cloud.Calls()
	return len(calls) > 0 && calls[len(calls)-1].Call == fakegce.Get && calls[len(calls)-1].Status == 200
}

// inserts counts those that were carried out.
func (s *scene) inserts() (n int) {
	for _, call := range s.cloud.Calls() {
		if call.Call == fakegce.Insert && (call.Status == 200 || call.Status == 0) {
			n++
		}
	}
	return n
}
