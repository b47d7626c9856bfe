package lease_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/leasetest"
)

func TestMemory(t *testing.T) { leasetest.Run(t, memoryRig) }

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
			store.Restore(state)
			return store
		},
	}
}
