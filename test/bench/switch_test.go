package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// Around the number of host names above which a table is looked up by host.
const (
	belowThreshold = 250
	aboveThreshold = 20 // more of them
)

// maxLate is how many answers may be of the last intent. While connections drain, a
// change reaches those on the old way by a resource of its own, some milliseconds
// before or after the one that the edit was seen by.
const maxLate = 2

// TestSwitchUnderLoad takes the tables of a plain and an HTTPS listener over the
// threshold between the two kinds of lookup, with edits before, after and under
// load: no request may fail, or meet anything but the intent.
func TestSwitchUnderLoad(t *testing.T) {
	c, err := newChurn(t.Context(), t.TempDir(), belowThreshold)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	instance := launch(t, c.shop)
	l := &load{intents: c.intents, requests: c.requests(churnRoutes), rate: 300}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { l.run(ctx) })
	err = c.cross(ctx)
	stop()
	running.Wait()
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(instance))
	}
	sent, faults := l.result()
	failed := slices.DeleteFunc(slices.Clone(faults), func(f string) bool { return strings.Contains(f, "misrouted") })
	if len(failed) > 0 || len(faults) > maxLate {
		t.Errorf("%d of %d requests failed or were misrouted:\n%s", len(faults), sent, strings.Join(faults[:min(len(faults), maxFaults)], "\n"))
	}
	if sent < 100 {
		t.Errorf("only %d requests were sent", sent)
	}
}

// cross goes over the threshold, with edits on both sides, and most of the way back.
func (c *churn) cross(ctx context.Context) error {
	k := 0
	edits := func() error {
		for range 40 {
			if err := c.edit(ctx, k, churnRoutes); err != nil {
				return fmt.Errorf("edit %d: %w", k, err)
			}
			k++
		}
		return nil
	}
	for _, step := range []func() error{
		edits, c.grow, func() error { return c.reaches(ctx, 200) }, edits, c.shrink, func() error { return c.reaches(ctx, 404) }, edits,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

const moreFile = "more.yaml"

// grow adds routes that take the tables over the threshold.
func (c *churn) grow() error {
	var b strings.Builder
	for i := range aboveThreshold {
		fmt.Fprintf(&b, routeYAML+"---\n", 800_000+i, moreHost(i), "more", "red")
	}
	return c.write(moreFile, b.String())
}

func (c *churn) shrink() error { return os.Remove(filepath.Join(c.dir, moreFile)) }

func moreHost(i int) string { return fmt.Sprintf("more%d.example.com", i) }

// reaches asks for the last of the additional hosts until it answers with a status.
func (c *churn) reaches(ctx context.Context, status int) error {
	r := rig.Request{Port: c.port, Host: moreHost(aboveThreshold - 1)}
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		got, err := rig.Do(ctx, r)
		if err != nil {
			return err
		}
		if got.Status == status {
			return nil
		}
	}
	return fmt.Errorf("%s does not answer %d after 10 s", r.Host, status)
}
