package checkpoint_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/checkpoint"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/leasetest"
)

// TestContract: a store that is written down and read by the next process in the middle
// of a story goes on as if nothing had been.
func TestContract(t *testing.T) {
	dir, rigs := t.TempDir(), 0
	leasetest.Run(t, func(leasetest.T) leasetest.Rig {
		now := time.Unix(1_800_000_000, 0).UTC()
		o := lease.Options{Now: func() time.Time { return now }}
		store := lease.NewMemory(o)
		rigs++
		file := checkpoint.File(filepath.Join(dir, strconv.Itoa(rigs)))
		return leasetest.Rig{
			Store: store, Windows: lease.DefaultWindows(), Now: o.Now, Pass: func(d time.Duration) { now = now.Add(d) }, Set: true,
			Reopen: func(t leasetest.T) lease.Store {
				write(t, store, file)
				store = lease.NewMemory(o)
				read(t, store, file)
				return store
			},
		}
	})
}

// write is the last write of a process.
func write(t leasetest.T, store *lease.Memory, sink checkpoint.Sink) {
	ctx, end := context.WithCancel(t.Context())
	end()
	checkpoint.Run(ctx, checkpoint.Options{Source: store, Sink: sink, Log: failing(t)})
}

func read(t leasetest.T, store *lease.Memory, sink checkpoint.Sink) {
	if err := checkpoint.Restore(t.Context(), checkpoint.Options{Source: store, Sink: sink, Log: failing(t)}); err != nil {
		t.Fatalf("%v", err)
	}
}

// failing is a log in which nothing bad may be.
func failing(t leasetest.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(complains{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type complains struct{ t leasetest.T }

func (c complains) Write(line []byte) (int, error) {
	c.t.Errorf("logged: %s", line)
	return len(line), nil
}

// busy is a store with a bit of everything.
func busy(t *testing.T) *lease.Memory {
	t.Helper()
	store := lease.NewMemory(lease.Options{})
	for _, uid := range []string{"1", "2", "3"} {
		p := lease.Proxy{UID: uid, Namespace: "n", Name: "p" + uid, Address: "192.0.2." + uid, Healthy: true, Attributes: map[string]string{"country": "de"}}
		if err := store.Set(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range []lease.Request{{Key: "k", Body: "b"}, {Session: "s", Target: "shop.example"}, {}} {
		r.TTL, r.Selector.Attributes = time.Minute, map[string]string{"country": "de"}
		l, err := store.Acquire(t.Context(), r)
		if err == nil && i > 0 {
			err = errors.Join(store.Report(t.Context(), l.ID, lease.Banned, ""), store.Release(t.Context(), l.ID))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return store
}

func encoded(t *testing.T, state lease.State) []byte {
	t.Helper()
	content, err := checkpoint.Encode(state)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestUnreadable: whatever is found in the place of a checkpoint is kept aside, logged as
// an error with its reason, and leases are granted and written all the same.
func TestUnreadable(t *testing.T) {
	good := string(encoded(t, busy(t).State()))
	duplicate := busy(t).State()
	duplicate.Leases = append(duplicate.Leases, duplicate.Leases[0])
	lost := busy(t).State()
	lost.Leases[0].Proxy = 77
	for name, c := range map[string]struct {
		content string
		want    error
	}{
		"empty":             {"", checkpoint.ErrForeign},
		"foreign":           {"{\"kind\":\"Secret\"}\n", checkpoint.ErrForeign},
		"binary":            {"\x00\xff\x1f\x8b", checkpoint.ErrForeign},
		"newer":             {strings.Replace(good, " 1 ", " 2 ", 1), checkpoint.ErrNewer},
		"version zero":      {strings.Replace(good, " 1 ", " 0 ", 1), checkpoint.ErrForeign},
		"truncated":         {good[:len(good)/2], checkpoint.ErrDamaged},
		"truncated in head": {good[:30], checkpoint.ErrDamaged},
		"one letter":        {strings.Replace(good, "shop", "ship", 1), checkpoint.ErrDamaged},
		"more behind":       {good + "{}", checkpoint.ErrDamaged},
		"gzip of nothing":   {"\x1f\x8b\x08\x00", checkpoint.ErrDamaged},
		"an ID twice":       {string(encoded(t, duplicate)), nil},
		"no such proxy":     {string(encoded(t, lost)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "leases")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := checkpoint.Decode([]byte(c.content)); !errors.Is(err, c.want) {
				t.Errorf("error %v, must be %v", err, c.want)
			}
			var log strings.Builder
			store := lease.NewMemory(lease.Options{})
			o := checkpoint.Options{Source: store, Sink: checkpoint.File(path), Log: slog.New(slog.NewTextHandler(&log, nil))}
			if err := checkpoint.Restore(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), path+".unreadable") {
				t.Errorf("logged %q", log.String())
			}
			if aside, err := os.ReadFile(path + ".unreadable"); err != nil || string(aside) != c.content {
				t.Errorf("kept aside %q (%v)", aside, err)
			}
			if got := store.State(); len(got.Leases)+len(got.Cooldowns)+len(got.Proxies) != 0 {
				t.Errorf("the store has %+v", got)
			}
			write(t, busy(t), o.Sink)
			read(t, lease.NewMemory(lease.Options{}), o.Sink)
		})
	}
}

// TestNothingYet: a first start has no past, and says nothing.
func TestNothingYet(t *testing.T) {
	read(t, lease.NewMemory(lease.Options{}), checkpoint.File(filepath.Join(t.TempDir(), "leases")))
}

// TestDirectoryInItsPlace is put aside too.
func TestDirectoryInItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		o := checkpoint.Options{Source: lease.NewMemory(lease.Options{}), Sink: checkpoint.File(path), Log: slog.New(slog.DiscardHandler)}
		if err := checkpoint.Restore(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	})
	write(t, busy(t), checkpoint.File(path))
}

// TestEveryCut: no part of a checkpoint, and none with one wrong byte, is taken for one.
func TestEveryCut(t *testing.T) {
	good := encoded(t, busy(t).State())
	for i := range good {
		if _, err := checkpoint.Decode(good[:i]); err == nil {
			t.Fatalf("the first %d bytes of %d are taken for all", i, len(good))
		}
		bad := append([]byte(nil), good...)
		bad[i] ^= 0x20
		if _, err := checkpoint.Decode(bad); err == nil {
			t.Fatalf("byte %d is wrong, and the rest is taken", i)
		}
	}
}

// TestFit: what has no room is left out, the leases that ended first of all.
func TestFit(t *testing.T) {
	store := busy(t)
	for range 500 {
		l, err := store.Acquire(t.Context(), lease.Request{TTL: time.Minute, Target: "x"})
		if err == nil {
			err = store.Release(t.Context(), l.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	all := store.State()
	content, err := checkpoint.Fit(all, 6000)
	if err != nil || len(content) > 6000 {
		t.Fatalf("%d bytes, error %v", len(content), err)
	}
	some, err := checkpoint.Decode(content)
	if n := len(some.Leases); err != nil || n < 50 || !some.Leases[0].Active || some.Leases[n-1].ID != all.Leases[len(all.Leases)-1].ID {
		t.Fatalf("%d leases, error %v", n, err)
	}
	if diff := cmp.Diff(all.Cooldowns, some.Cooldowns); diff != "" {
		t.Errorf("cooldowns (-all +fit):\n%s", diff)
	}
	if content, err = checkpoint.Fit(all, 0); err != nil {
		t.Fatal(err)
	}
	if same, err := checkpoint.Decode(content); err != nil || !cmp.Equal(all, same, cmpopts.EquateEmpty()) {
		t.Errorf("without a limit something is left out (%v):\n%s", err, cmp.Diff(all, same, cmpopts.EquateEmpty()))
	}
	if _, err := checkpoint.Fit(all, 100); !errors.Is(err, checkpoint.ErrTooLong) {
		t.Errorf("error %v, must be that there is too much", err)
	}
}

// FuzzRestore: no content brings a store down, and what it took can be written again.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"leases":[{"id":"a","proxy":0,"expiresAt":"2027-01-01T00:00:00Z","ttlNanoseconds":1000000000,"active":true}],"proxies":[{"UID":"1"}]}`))
	f.Add([]byte(`{"cooldowns":[{"uid":"1","until":"2027-01-01T00:00:00Z","times":1}],"proxies":[{"UID":"1","last":true}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = checkpoint.Decode(body)
		state, err := checkpoint.Decode(sealed(body))
		store := lease.NewMemory(lease.Options{})
		if err != nil || store.Restore(state) != nil {
			return
		}
		_ = store.Set(t.Context(), lease.Proxy{UID: "1", Healthy: true})
		_, _ = store.Acquire(t.Context(), lease.Request{TTL: time.Second})
		again, err := checkpoint.Encode(store.State())
		if err != nil {
			t.Fatal(err)
		}
		if state, err = checkpoint.Decode(again); err != nil || lease.NewMemory(lease.Options{}).Restore(state) != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}
