package lease_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/leasetest"
)

func TestMemory(t *testing.T) {
	leasetest.Run(t, memoryRig)
	leasetest.RunLimits(t, memoryRig)
}

// TestMemoryInRealTime is for the suite more than for the store: one whose time cannot
// be set can be run too.
func TestMemoryInRealTime(t *testing.T) {
	for name, w := range map[string]lease.Windows{"Brief": leasetest.Brief(), "Default": lease.DefaultWindows()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leasetest.Run(t, func(leasetest.T) leasetest.Rig {
				return leasetest.Rig{Store: lease.NewMemory(lease.Options{Windows: w}), Windows: w, Now: time.Now, Pass: time.Sleep}
			})
		})
	}
}

// memoryRig is a store whose process can be another at any time.
func memoryRig(leasetest.T) leasetest.Rig {
	now, ids := time.Unix(1_800_000_000, 0).UTC(), 0
	o := lease.Options{
		Now: func() time.Time { return now }, NewID: func() string { ids++; return strconv.Itoa(ids) }, Windows: lease.DefaultWindows(),
	}
	store := lease.NewMemory(o)
	return leasetest.Rig{
		Store: store, Windows: o.Windows, Now: o.Now, Pass: func(d time.Duration) { now = now.Add(d) }, Set: true,
		Reopen: func(t leasetest.T) lease.Store {
			encoded, err := json.Marshal(store.State())
			var state lease.State
			if err == nil {
				err = json.Unmarshal(encoded, &state)
			}
			if err != nil {
				t.Fatalf("%v", err)
			}
			store = lease.NewMemory(o)
			if err := store.Restore(state); err != nil {
				t.Fatalf("%v", err)
			}
			return store
		},
	}
}
