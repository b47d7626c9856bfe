package fakegce

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Call is a request as the log has it.
type Call struct {
	At time.Time
	// Call is one of those named above; empty for a request that the service does not know.
	Call                string
	Method, Path, Query string
	Project, Zone, Name string
	RequestID           string
	// Authorization says whether the request had credentials.
	Authorization bool
	// Status is what was answered; 0 while it is not, and for a broken connection.
	Status int

	body []byte
}

// failure is an answer that says what is wrong.
type failure struct {
	status          int
	reason, message string
}

// action carries a call out. The lock is held.
type action func(call Call) (proto.Message, *failure)

func (c *Cloud) route() {
	c.mux = http.NewServeMux()
	zone := "/compute/v1/projects/{project}/zones/{zone}/"
	c.mux.HandleFunc("POST "+zone+"instances", c.answer(Insert, c.insert))
	c.mux.HandleFunc("GET "+zone+"instances/{name}", c.answer(Get, c.get))
	c.mux.HandleFunc("DELETE "+zone+"instances/{name}", c.answer(Delete, c.delete))
	c.mux.HandleFunc("GET /compute/v1/projects/{project}/aggregated/instances", c.answer(List, c.list))
	c.mux.HandleFunc("GET "+zone+"operations/{name}", c.answer(Operation, c.operation))
	c.mux.HandleFunc("/", c.answer("", func(call Call) (proto.Message, *failure) {
		c.breach("a call that is none of ours:", call.Method, call.Path)
		return nil, &failure{http.StatusNotImplemented, "notImplemented", call.Method + " " + call.Path}
	}))
	c.control()
}

// answer is what happens to every call, in this order: it is logged, waits, is held,
// refused, carried out, held, and answered.
func (c *Cloud) answer(kind string, do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		call, bad := parse(kind, r)
		index, f, id, latency := c.log(call)
		if !pause(r.Context(), latency+f.Latency) || (f.Hold == Before && !c.hold(r.Context(), id, Before, call)) {
			panic(http.ErrAbortHandler)
		}
		var out proto.Message
		if f.Status == 0 || f.Done {
			if bad == nil {
				out, bad = c.carryOut(do, call, f)
			}
		}
		if f.Hold == After && !c.hold(r.Context(), id, After, call) || f.Drop {
			panic(http.ErrAbortHandler)
		}
		if f.Status != 0 {
			bad = &failure{f.Status, f.Reason, f.Message}
		}
		c.note(index, write(w, out, bad))
	}
}

func parse(kind string, r *http.Request) (Call, *failure) {
	call := Call{
		Call: kind, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Project: r.PathValue("project"), Zone: r.PathValue("zone"), Name: r.PathValue("name"),
		RequestID: r.URL.Query().Get("requestId"), Authorization: r.Header.Get("Authorization") != "",
	}
	var err error
	if call.body, err = io.ReadAll(io.LimitReader(r.Body, 1<<20)); err != nil {
		return call, &failure{http.StatusBadRequest, "badRequest", "the body cannot be read"}
	}
	if kind == Insert {
		var named struct{ Name string }
		if json.Unmarshal(call.body, &named) != nil {
			return call, &failure{http.StatusBadRequest, "parseError", "Parse Error"}
		}
		call.Name = named.Name
	}
	return call, nil
}

// log notes a call and what is to become of it.
func (c *Cloud) log(call Call) (index int, f Fault, id int, latency time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.At = c.o.Now()
	c.calls = append(c.calls, call)
	f, id = c.match(call)
	return len(c.calls) - 1, f, id, c.o.Latency
}

func (c *Cloud) note(index, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[index].Status = status
}

// Calls returns the log.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Call(nil), c.calls...)
}

// pause returns false if the client does not wait so long.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *Cloud) carryOut(do action, call Call, f Fault) (proto.Message, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	out, bad := do(call)
	if m := c.machines[path(call.Project, call.Zone, call.Name)]; call.Call == Insert && bad == nil && f.Ends != "" && m != nil && m.op != nil {
		m.op.code, m.op.message, m.op.status = f.Ends, f.Message, http.StatusForbidden
		m.op.ends = m.op.accepted.Add(c.o.StageAfter)
	}
	return out, bad
}

func write(w http.ResponseWriter, out proto.Message, bad *failure) int {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	if bad != nil {
		w.WriteHeader(bad.status)
		item := map[string]string{"message": bad.message, "domain": "global", "reason": bad.reason}
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
			"code": bad.status, "message": bad.message, "errors": []any{item},
		}})
		return bad.status
	}
	body, err := protojson.Marshal(out)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return http.StatusInternalServerError
	}
	_, _ = w.Write(body)
	return http.StatusOK
}
