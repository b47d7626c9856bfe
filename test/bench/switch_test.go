package bench

import (
	"context"
	"encoding/json"
	"errors"
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

// Around the numbers of host names above and below which a table changes its way
// of lookup.
const (
	belowScoped = 220 // and with more of them above it
	belowWhole  = 150 // and with more of them not yet
	moreHosts   = 60
)

// maxLate is how many answers may be of the last intent. While connections drain, a
// change reaches those on the old way by a resource of its own, some milliseconds
// before or after the one that the edit was seen by.
const maxLate = 2

// TestSwitchUnderLoad takes the tables of a plain and an HTTPS listener over the
// threshold between the two kinds of lookup, with edits before, after and under
// load of HTTP/1.1, HTTP/2, gRPC and WebSockets: no request may fail, or meet
// anything but the intent, and no stream may end.
func TestSwitchUnderLoad(t *testing.T) {
	for name, way := range map[string]struct {
		hosts  int
		before bool // looked up by host
		steps  func(*churn, func() error) []func(context.Context) error
	}{
		"to lookup by host": {belowScoped, false, (*churn).growAndShrink},
		"to a whole table":  {belowWhole, true, (*churn).shrinkAndGrow},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := newChurn(t.Context(), t.TempDir(), way.hosts)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.close)
			state := t.TempDir()
			if way.before {
				if err := errors.Join(c.grow(), c.scopedLongAgo(state)); err != nil {
					t.Fatal(err)
				}
			}
			instance := launchIn(t, c.shop, state)
			looksUp(t, instance, way.before)
			sent, said, faults := c.underLoad(t, func(ctx context.Context) error { return c.cross(ctx, way.steps) })
			looksUp(t, instance, !way.before)
			failed := slices.DeleteFunc(slices.Clone(faults), func(f string) bool { return strings.Contains(f, "misrouted") })
			if len(failed) > 0 || len(faults) > maxLate {
				t.Errorf("%d of %d requests and %d messages failed or were misrouted:\n%s", len(faults), sent, said, strings.Join(faults[:min(len(faults), maxFaults)], "\n"))
			}
			if sent < 100 || said < 100 {
				t.Errorf("only %d requests and %d messages were sent", sent, said)
			}
		})
	}
}

// underLoad does something under a load of requests and of talks.
func (c *churn) underLoad(t *testing.T, do func(context.Context) error) (sent, said int, faults []string) {
	t.Helper()
	l := &load{intents: c.intents, requests: c.requests(churnRoutes), rate: 300}
	talks := &talks{port: c.port}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { l.run(ctx) })
	running.Go(func() { talks.run(ctx) })
	err := do(ctx)
	stop()
	running.Wait()
	if err != nil {
		t.Fatal(err)
	}
	sent, faults = l.result()
	return sent, talks.said, append(faults, talks.faults...)
}

// cross goes over the threshold and back, with edits on both sides; the way of
// lookup does not follow back within the hour.
func (c *churn) cross(ctx context.Context, steps func(*churn, func() error) []func(context.Context) error) error {
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
	for _, step := range steps(c, edits) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *churn) growAndShrink(edits func() error) []func(context.Context) error {
	again := func(context.Context) error { return edits() }
	return []func(context.Context) error{again, c.more, again, c.fewer, again}
}

func (c *churn) shrinkAndGrow(edits func() error) []func(context.Context) error {
	again := func(context.Context) error { return edits() }
	return []func(context.Context) error{again, c.fewer, again, c.more, again}
}

func (c *churn) more(ctx context.Context) error {
	if err := c.grow(); err != nil {
		return err
	}
	return c.reaches(ctx, 200)
}

func (c *churn) fewer(ctx context.Context) error {
	if err := os.Remove(filepath.Join(c.dir, moreFile)); err != nil {
		return err
	}
	return c.reaches(ctx, 404)
}

const moreFile = "more.yaml"

// grow adds routes that take the tables over the threshold.
func (c *churn) grow() error {
	var b strings.Builder
	for i := range moreHosts {
		fmt.Fprintf(&b, routeYAML+"---\n", 800_000+i, moreHost(i), "more", "red")
	}
	return c.write(moreFile, b.String())
}

func moreHost(i int) string { return fmt.Sprintf("more%d.example.com", i) }

// scopedLongAgo writes what an instance leaves behind whose tables have been looked
// up by host for hours.
func (c *churn) scopedLongAgo(stateDir string) error {
	since := time.Now().Add(-3 * time.Hour).Format(time.RFC3339)
	return os.WriteFile(filepath.Join(stateDir, "route-tables.json"), fmt.Appendf(nil,
		`{"version": 1, "tables": {"bench/edge/%d": {"scoped": true, "since": %q}, "bench/edge/%d/https": {"scoped": true, "since": %q}}}`,
		c.port, since, c.tlsPort, since), 0o600)
}

// reaches asks for the last of the additional hosts until it answers with a status.
func (c *churn) reaches(ctx context.Context, status int) error {
	r := rig.Request{Port: c.port, Host: moreHost(moreHosts - 1)}
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

// looksUp fails the test unless both listeners of the proxy look hosts up one by
// one, or neither.
func looksUp(t *testing.T, i *rig.Instance, byHost bool) {
	t.Helper()
	err := i.Until(t.Context(), fmt.Sprintf("the proxy looks up by host: %v", byHost), func(ctx context.Context) error {
		listeners, err := activeListeners(ctx, i)
		if err != nil {
			return err
		}
		for _, l := range listeners {
			if strings.Contains(string(l), `"scoped_routes"`) != byHost {
				return errors.New("a listener does not")
			}
		}
		if len(listeners) != 2 {
			return fmt.Errorf("%d listeners are active, want 2", len(listeners))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// activeListeners are the configurations that the proxy serves new connections with.
func activeListeners(ctx context.Context, i *rig.Instance) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := fetch(ctx, "http://"+i.Admin+"/config_dump?gateway=bench/edge")
	if err != nil {
		return nil, err
	}
	var dump struct {
		Configs []struct {
			Dynamic []struct {
				Active struct {
					Listener json.RawMessage `json:"listener"`
				} `json:"active_state"`
			} `json:"dynamic_listeners"`
		} `json:"configs"`
	}
	if err := json.Unmarshal(body, &dump); err != nil {
		return nil, err
	}
	var out []json.RawMessage
	for _, config := range dump.Configs {
		for _, l := range config.Dynamic {
			if len(l.Active.Listener) > 0 {
				out = append(out, l.Active.Listener)
			}
		}
	}
	return out, nil
}
