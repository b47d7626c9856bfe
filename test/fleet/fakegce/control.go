package fakegce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Control is the service's other side for a process that is not its own. URL is where
// it listens.
type Control struct{ URL string }

// control answers what Control asks.
func (c *Cloud) control() {
	c.mux.HandleFunc("POST /fake/faults", func(w http.ResponseWriter, r *http.Request) {
		var f Fault
		if read(w, r, &f) {
			reply(w, c.Add(f))
		}
	})
	c.mux.HandleFunc("DELETE /fake/faults/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		c.Lift(id)
		reply(w, true)
	})
	c.mux.HandleFunc("GET /fake/calls", func(w http.ResponseWriter, _ *http.Request) { reply(w, c.Calls()) })
	c.mux.HandleFunc("GET /fake/machines", func(w http.ResponseWriter, _ *http.Request) { reply(w, c.Machines()) })
	c.mux.HandleFunc("GET /fake/broken", func(w http.ResponseWriter, _ *http.Request) { reply(w, c.Broken()) })
	c.mux.HandleFunc("GET /fake/held", func(w http.ResponseWriter, r *http.Request) {
		held, err := c.WaitHeld(r.Context())
		answer(w, held, err)
	})
	c.mux.HandleFunc("GET /fake/free", func(w http.ResponseWriter, r *http.Request) { answer(w, true, c.WaitFree(r.Context())) })
	c.mux.HandleFunc("POST /fake/place", func(w http.ResponseWriter, r *http.Request) {
		var m Machine
		if read(w, r, &m) {
			c.Place(m.Project, m.Zone, m.Name, m.Labels)
			reply(w, true)
		}
	})
	c.mux.HandleFunc("POST /fake/unreachable", func(w http.ResponseWriter, r *http.Request) {
		c.SetUnreachable(r.FormValue("zone"), r.FormValue("how"))
		reply(w, true)
	})
	c.mux.HandleFunc("POST /fake/options", func(w http.ResponseWriter, r *http.Request) {
		var err error
		c.Set(func(o *Options) { err = json.NewDecoder(r.Body).Decode(o) })
		answer(w, true, err)
	})
	c.mux.HandleFunc("POST /fake/advance", func(w http.ResponseWriter, r *http.Request) {
		d, err := time.ParseDuration(r.FormValue("by"))
		c.Advance(d)
		answer(w, true, err)
	})
	for name, do := range map[string]func(string) error{"remove": c.Remove, "stop": c.Stop, "restart": c.Restart} {
		c.mux.HandleFunc("POST /fake/"+name, func(w http.ResponseWriter, r *http.Request) { answer(w, true, do(r.FormValue("at"))) })
	}
}

func read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(r.Body).Decode(into)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

func reply(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply(w, v)
}

// Add begins a fault and returns what to lift it by.
func (c Control) Add(ctx context.Context, f Fault) (id int, err error) {
	return id, c.ask(ctx, http.MethodPost, "faults", f, &id)
}

// Lift ends a fault, and releases the calls that it holds.
func (c Control) Lift(ctx context.Context, id int) error {
	return c.ask(ctx, http.MethodDelete, "faults/"+strconv.Itoa(id), nil, nil)
}

// Calls returns the log of all calls.
func (c Control) Calls(ctx context.Context) (out []Call, err error) {
	return out, c.ask(ctx, http.MethodGet, "calls", nil, &out)
}

// Machines returns all instances that have not gone yet.
func (c Control) Machines(ctx context.Context) (out []Machine, err error) {
	return out, c.ask(ctx, http.MethodGet, "machines", nil, &out)
}

// Broken returns what nobody should do and somebody did, see [Cloud.Broken].
func (c Control) Broken(ctx context.Context) (out []string, err error) {
	return out, c.ask(ctx, http.MethodGet, "broken", nil, &out)
}

// WaitHeld waits until a call is held.
func (c Control) WaitHeld(ctx context.Context) (out Held, err error) {
	return out, c.ask(ctx, http.MethodGet, "held", nil, &out)
}

// WaitFree waits until no call is held, such as when who made it has ended.
func (c Control) WaitFree(ctx context.Context) error {
	return c.ask(ctx, http.MethodGet, "free", nil, nil)
}

// Place adds an instance that nobody asked for through the API.
func (c Control) Place(ctx context.Context, m Machine) error {
	return c.ask(ctx, http.MethodPost, "place", m, nil)
}

// SetUnreachable hides the instances of a zone from lists.
func (c Control) SetUnreachable(ctx context.Context, zone, how string) error {
	return c.ask(ctx, http.MethodPost, "unreachable?"+url.Values{"zone": {zone}, "how": {how}}.Encode(), nil, nil)
}

// Set changes the options that o names, by the names of [Options].
func (c Control) Set(ctx context.Context, o map[string]any) error {
	return c.ask(ctx, http.MethodPost, "options", o, nil)
}

// Advance puts the service's clock forward.
func (c Control) Advance(ctx context.Context, d time.Duration) error {
	return c.ask(ctx, http.MethodPost, "advance?"+url.Values{"by": {d.String()}}.Encode(), nil, nil)
}

// Stop ends an instance without deleting it, see [Cloud.Stop].
func (c Control) Stop(ctx context.Context, at string) error { return c.do(ctx, "stop", at) }

// Restart starts an instance again, with another address.
func (c Control) Restart(ctx context.Context, at string) error { return c.do(ctx, "restart", at) }

// Remove makes an instance vanish.
func (c Control) Remove(ctx context.Context, at string) error { return c.do(ctx, "remove", at) }

func (c Control) do(ctx context.Context, what, at string) error {
	return c.ask(ctx, http.MethodPost, what+"?"+url.Values{"at": {at}}.Encode(), nil, nil)
}

func (c Control) ask(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("ask fakegce: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.URL+"/fake/"+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask fakegce: %w", err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("ask fakegce: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return errors.New("fakegce: " + strings.TrimSpace(string(text)))
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(out)
}
