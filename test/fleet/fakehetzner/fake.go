// Package fakehetzner answers as the API of Hetzner Cloud does, as far as servers and
// their actions go: projects by token, names that are unique in each, labels and their
// selectors, pages, actions that go on step by step, and every error that a test asks
// for. It speaks HTTP, and keeps everything in memory.
package fakehetzner

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud/schema"
)

// Fake is a cloud. Its zero value is not usable: see [New].
type Fake struct {
	mux *http.ServeMux

	mu      sync.Mutex
	now     func() time.Time
	tokens  map[string]string // project by token
	servers map[int64]*server
	actions map[int64]*schema.Action
	last    int64 // ID given
	o       Behaviour
}

// Behaviour is what is not as it is on a good day.
type Behaviour struct {
	// Fault answers requests in place of the API; nil for none.
	Fault *Fault
	// PageSize bounds pages; 0 for the API's 50. EmptyFirst puts an empty page before
	// them; Repeats lists every server twice.
	PageSize            int
	EmptyFirst, Repeats bool
	// NoAddress lets servers run without one.
	NoAddress bool
	// EndsWith is the code with which creates that were accepted end; empty for well.
	EndsWith string
	// DeletesStall lets no deletion end.
	DeletesStall bool
	// Ahead is how far the clock is ahead.
	Ahead time.Duration
	// Goes lets everything go a step at each request.
	Goes bool
}

// server is one, with what is not on the wire.
type server struct {
	schema.Server
	project string
	request Request
	step    int
	create  *schema.Action
	delete  *schema.Action
}

// New returns an empty cloud.
func New() *Fake {
	f := &Fake{
		mux: http.NewServeMux(), now: time.Now,
		tokens: make(map[string]string), servers: make(map[int64]*server), actions: make(map[int64]*schema.Action), last: 41,
	}
	f.mux.HandleFunc("POST /servers", f.create)
	f.mux.HandleFunc("GET /servers", f.list)
	f.mux.HandleFunc("GET /servers/{id}", f.get)
	f.mux.HandleFunc("DELETE /servers/{id}", f.remove)
	f.mux.HandleFunc("GET /actions/{id}", f.action)
	return f
}

// Token makes a project, or another token of it.
func (f *Fake) Token(token, project string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens[token] = project
}

// Revoke takes a token away.
func (f *Fake) Revoke(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tokens, token)
}

// Behave says how things are from now on.
func (f *Fake) Behave(b Behaviour) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.o = b
}

// Step lets all actions go on: a server is made in two steps and deleted in two.
func (f *Fake) Step() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
}

func (f *Fake) advance() {
	for _, id := range slices.Sorted(maps.Keys(f.servers)) {
		f.advanceOne(f.servers[id])
	}
}

func (f *Fake) advanceOne(s *server) {
	switch s.step++; {
	case s.delete != nil && !f.o.DeletesStall:
		done(s.delete, f.time(), "")
		delete(f.servers, s.ID)
	case s.Status == "initializing" && f.o.EndsWith != "":
		done(s.create, f.time(), f.o.EndsWith)
		delete(f.servers, s.ID)
	case s.Status == "initializing":
		s.Status = "off" // and held by the action that starts it
	case s.Status == "off" && s.Locked:
		done(s.create, f.time(), "")
		s.Status, s.Locked = "running", false
	}
	if s.PublicNet.IPv4.IP == "" && !f.o.NoAddress {
		s.PublicNet.IPv4 = schema.ServerPublicNetIPv4{ID: s.ID, IP: fmt.Sprintf("127.19.2.%d", s.ID%250+1)}
		s.PublicNet.IPv6 = schema.ServerPublicNetIPv6{ID: s.ID, IP: fmt.Sprintf("2001:db8:%x::/64", s.ID)}
	}
}

func done(a *schema.Action, at time.Time, code string) {
	if a.Status != "running" {
		return
	}
	a.Status, a.Progress, a.Finished = "success", 100, &at
	if code != "" {
		a.Status, a.Error = "error", &schema.ActionError{Code: code, Message: "the creation of the server failed"}
	}
}

func (f *Fake) time() time.Time { return f.now().Add(f.o.Ahead).UTC().Truncate(time.Second) }

// Count returns how many servers of a name there are in all projects.
func (f *Fake) Count(name string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.servers {
		if s.Name == name {
			n++
		}
	}
	return n
}

// Request returns what the server of this number was asked for with.
func (f *Fake) Request(id int64) Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.servers[id].request
}

// Put makes a server that runs, by another way than the API.
func (f *Fake) Put(project, name string, labels map[string]string) (id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.put(project, Request{Name: name, Labels: labels})
	s.Status, s.Locked = "running", false
	done(s.create, f.time(), "")
	return s.ID
}

// Edit changes a server, as its owner or a fault does: its status, address, labels.
func (f *Fake) Edit(id int64, change func(*schema.Server)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.servers[id].Server)
}

// Drop takes a server away.
func (f *Fake) Drop(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.servers, id)
}

// put adds a server and its action. The caller holds the lock.
func (f *Fake) put(project string, r Request) *server {
	f.last += 7
	at := f.time()
	s := &server{
		project: project, request: r,
		ID: f.last, Name: r.Name, Status: "initializing", Created: at, Labels: r.Labels, Locked: true,
		ServerType: schema.ServerType{ID: 1, Name: r.ServerType}, Location: schema.Location{ID: 1, Name: r.Location},
	}
	s.create = f.begin("create_server", s.ID, at)
	f.servers[s.ID] = s
	return s
}

func (f *Fake) begin(command string, server int64, at time.Time) *schema.Action {
	f.last++
	a := &schema.Action{
		ID: f.last, Status: "running", Command: command, Started: at,
		Resources: []schema.ActionResourceReference{{ID: server, Type: "server"}},
	}
	f.actions[a.ID] = a
	return a
}
