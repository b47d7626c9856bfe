package process

import (
	"errors"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// TestNumberOfAnother: a process that has the number of one that ended is not it.
func TestNumberOfAnother(t *testing.T) {
	me, err := of(os.Getpid())
	if err != nil || !me.alive() {
		t.Fatalf("this process, %+v, is not alive: %v", me, err)
	}
	before, elsewhere := me, me
	before.Ticks--
	elsewhere.Boot = "another start of the machine"
	for _, other := range []process{before, elsewhere, {PID: me.PID}} {
		if other.alive() {
			t.Errorf("%+v is alive, want only %+v to be", other, me)
		}
	}
}

// TestFolderRemoved: a process whose folder somebody removed is found and ended.
func TestFolderRemoved(t *testing.T) {
	w := newWorld(t, nil)
	p := w.Open(t, "ours").(*Provider)
	if _, err := p.Create(t.Context(), request("ours", uid)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "instances")); err != nil {
		t.Fatal(err)
	}
	p = w.Open(t, "ours").(*Provider)
	eventually(t, "no process is left", func() bool { return len(processesOf(p.store.folder(provider.NameFromUID(uid)))) == 0 })
	clean(t, w.dir)
}

// TestSecrets: they are in files that only their owner reads, and nowhere else.
func TestSecrets(t *testing.T) {
	w := newWorld(t, nil)
	p := w.Open(t, "ours").(*Provider)
	r := request("ours", uid)
	r.Credentials.LeaseKey = []byte("key-of-the-leases-of-this-one-instance")
	if _, err := p.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	auth := filepath.Join(p.store.folder(r.Name), authFolder)
	for name, want := range map[string]string{"username": "crawler", "password": secret, "lease-key": string(r.Credentials.LeaseKey)} {
		path := filepath.Join(auth, name)
		text, err := os.ReadFile(path)
		if info, statErr := os.Stat(path); err != nil || statErr != nil || string(text) != want || info.Mode() != 0o600 {
			t.Errorf("%s: %q, %v, %v; want %q for its owner alone", name, text, info.Mode(), err, want)
		}
	}
	record, err := os.ReadFile(p.store.record(r.Name))
	i, readErr := p.store.read(r.Name)
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	said := strings.Join(slices.Concat(p.arguments(i), environment(i, p.store.folder(i.Name)), []string{string(record)}), "\n")
	for _, hidden := range []string{secret, string(r.Credentials.LeaseKey)} {
		if strings.Contains(said, hidden) {
			t.Errorf("a secret is in\n%s", said)
		}
	}
}

// TestAddresses: every host of a small prefix can be had, and each once.
func TestAddresses(t *testing.T) {
	small := netip.MustParsePrefix("127.77.0.8/29")
	seen := make(map[netip.Addr]bool)
	for a := range candidates(small) {
		if seen[a] || !small.Contains(a) {
			t.Errorf("%s is repeated, or not of %s", a, small)
		}
		seen[a] = true
	}
	if len(seen) != 5 { // not the network, the gateway and the broadcast
		t.Errorf("%d addresses of %s, want 5", len(seen), small)
	}
	w := newWorld(t, nil)
	p := w.Open(t, "ours").(*Provider)
	p.hosts = func(netip.Prefix) iter.Seq[netip.Addr] { return candidates(small) }
	for range 5 {
		i := new(instance)
		if err := p.place(i); err != nil {
			t.Fatal(err)
		}
		claim, err := claimed(i)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = claim.Close() })
	}
	if err := p.place(new(instance)); !errors.Is(err, provider.ErrQuotaExceeded) {
		t.Errorf("a sixth address of %s: %v, want %v", small, err, provider.ErrQuotaExceeded)
	}
}

// TestLastWords: whoever looks at an instance that has ended learns what it said.
func TestLastWords(t *testing.T) {
	w := newWorld(t, nil)
	p := w.Open(t, "ours").(*Provider)
	text := "#!/bin/sh\necho 'serving'\necho 'no such address'\n"
	if err := os.WriteFile(w.program, []byte(text), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	if _, err := p.Create(t.Context(), request("ours", uid)); err != nil {
		t.Fatal(err)
	}
	var got provider.Instance
	eventually(t, "it has stopped", func() bool {
		var err error
		got, err = p.Get(t.Context(), provider.NameFromUID(uid))
		return err == nil && got.State == provider.Stopped
	})
	if want := `it last said "no such address"`; got.Detail != want {
		t.Errorf("it stopped with %q, want %q", got.Detail, want)
	}
	ends(t, p)
}
