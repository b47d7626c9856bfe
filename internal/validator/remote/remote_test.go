package remote_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	validator_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/validator/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/validator/remote"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

type stream = grpc.BidiStreamingServer[validator_v1alpha1.Request, validator_v1alpha1.Response]

// service is a real gRPC server that keeps what it accepted, as the protocol asks for,
// unless it misbehaves.
type service struct {
	// misbehave, if set, takes the answer's place; its error ends the conversation.
	misbehave func(s stream, r *validator_v1alpha1.Request) error
	refuse    func(all map[string]string) []*validator_v1alpha1.Error

	mu            sync.Mutex
	conversations int
	received      []int // resources received, for each sequence of each conversation
	seen          map[string]string
}

func (s *service) Judge(at stream) error {
	s.mu.Lock()
	s.conversations++
	s.mu.Unlock()
	accepted := map[string]string{}
	for {
		next, r, err := s.receive(at, accepted)
		if err != nil {
			return err
		}
		switch {
		case r.GetSequence() == 0:
			accepted = next
		case s.misbehave != nil:
			if err := s.misbehave(at, r); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		default:
			errs := s.refuse(next)
			if len(errs) == 0 {
				accepted = next
			}
			if err := at.Send(&validator_v1alpha1.Response{Sequence: r.GetSequence(), Errors: errs}); err != nil {
				return err
			}
		}
	}
}

// receive returns what accepted becomes by all parts of a request, and the last part.
func (s *service) receive(at stream, accepted map[string]string) (map[string]string, *validator_v1alpha1.Request, error) {
	next, count := maps.Clone(accepted), 0
	for {
		r, err := at.Recv()
		if err != nil {
			return nil, nil, err
		}
		for _, x := range r.GetSet() {
			next[x.GetName().GetName()] = string(x.GetBody().GetValue())
		}
		for _, n := range r.GetRemove() {
			delete(next, n.GetName())
		}
		if count += len(r.GetSet()); !r.GetMore() {
			s.mu.Lock()
			s.received, s.seen = append(s.received, count), next
			s.mu.Unlock()
			return next, r, nil
		}
	}
}

func (s *service) saw() (conversations int, received []int, seen map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversations, slices.Clone(s.received), s.seen
}

func (s *service) serve(t *testing.T) (address string, stop func()) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	return "unix://" + socket, s.serveAt(t, socket)
}

func (s *service) serveAt(t *testing.T, socket string) (stop func()) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if s.refuse == nil {
		s.refuse = func(map[string]string) []*validator_v1alpha1.Error { return nil }
	}
	server := grpc.NewServer()
	validator_v1alpha1.Register(server, s)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) })
	stop = sync.OnceFunc(func() { server.Stop(); served.Wait() })
	t.Cleanup(stop)
	return stop
}

func ask(t *testing.T, address string, timeout time.Duration) *remote.Validator {
	t.Helper()
	v, err := remote.New(remote.Options{
		Name: "rules", Address: address, Timeout: timeout,
		Body: func(r xdsserve.Resource) ([]byte, error) { return r.Body, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

func of(names ...string) map[string]string {
	out := map[string]string{}
	for _, n := range names {
		out[n] = n
	}
	return out
}

// between is the candidate after, where before was accepted last.
func between(before, after map[string]string) validator.Candidate {
	c := validator.Candidate{Baseline: all(before), All: all(after)}
	for name, body := range after {
		if before[name] != body {
			c.Delta.Set = append(c.Delta.Set, resource(name, body))
		}
	}
	for name := range before {
		if _, stays := after[name]; !stays {
			c.Delta.Remove = append(c.Delta.Remove, xdsserve.Scoped{Group: "ns/gw", Name: xdsserve.Name{Type: xdsserve.Routes, Name: name}})
		}
	}
	slices.SortFunc(c.Delta.Set, func(a, b xdsserve.Resource) int { return cmp.Compare(a.Name.Name, b.Name.Name) })
	return c
}

func all(of map[string]string) iter.Seq[xdsserve.Resource] {
	return func(yield func(xdsserve.Resource) bool) {
		for name, body := range of {
			if !yield(resource(name, body)) {
				return
			}
		}
	}
}

func resource(name, body string) xdsserve.Resource {
	return xdsserve.Resource{Name: xdsserve.Name{Type: xdsserve.Routes, Name: name}, Group: "ns/gw", Body: []byte(body), Origins: []string{"HTTPRoute ns/" + name}}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func accepts(t *testing.T, v validator.Validator, c validator.Candidate) {
	t.Helper()
	if said := v.Validate(t.Context(), c); said.Unavailable != "" || len(said.Refusals) > 0 {
		t.Fatalf("got %+v, want it accepted", said)
	}
}

// "a gRPC one gets the baseline once, then deltas"
func TestBaselineOnceThenDeltas(t *testing.T) {
	s := &service{}
	address, _ := s.serve(t)
	v := ask(t, address, 10*time.Second)
	accepts(t, v, between(nil, of("a", "b")))
	accepts(t, v, between(of("a", "b"), of("a", "b", "c")))
	accepts(t, v, between(of("a", "b", "c"), of("b", "c")))
	conversations, received, seen := s.saw()
	if conversations != 1 || !slices.Equal(received, []int{0, 2, 1, 0}) || !maps.Equal(seen, of("b", "c")) {
		t.Errorf("%d conversations with %v resources left it at %v", conversations, received, seen)
	}
}

func TestRefusalNamesWhatTheServiceNames(t *testing.T) {
	s := &service{refuse: func(all map[string]string) []*validator_v1alpha1.Error {
		if all["bad"] == "" {
			return nil
		}
		return []*validator_v1alpha1.Error{{
			Object:   &validator_v1alpha1.Object{Kind: "HTTPRoute", Name: "ns/bad"},
			Resource: &validator_v1alpha1.ResourceName{Type: "RouteConfiguration", Name: "bad", Group: "ns/gw"},
			Field:    "spec.hostnames", Message: "two\nlines",
		}}
	}}
	address, _ := s.serve(t)
	v := ask(t, address, 10*time.Second)
	accepts(t, v, between(nil, of("a")))
	said := v.Validate(t.Context(), between(of("a"), of("a", "bad")))
	if len(said.Refusals) != 1 {
		t.Fatalf("got %+v, want one refusal", said)
	}
	r := said.Refusals[0]
	if !slices.Equal(r.Objects, []store.Key{{Collection: "HTTPRoute", Name: "ns/bad"}}) || r.Field != "spec.hostnames" || r.Message != "two lines" ||
		!slices.Equal(r.Resources, []xdsserve.Scoped{{Group: "ns/gw", Name: xdsserve.Name{Type: xdsserve.Routes, Name: "bad"}}}) {
		t.Errorf("got %+v", r)
	}
	accepts(t, v, between(of("a"), of("a", "c"))) // the refused candidate is forgotten
	if conversations, _, seen := s.saw(); conversations != 1 || !maps.Equal(seen, of("a", "c")) {
		t.Errorf("%d conversations left it at %v", conversations, seen)
	}
}

// "reconnects send the baseline again"
func TestServiceThatRestartsGetsTheBaseline(t *testing.T) {
	first, second := &service{}, &service{}
	address, stop := first.serve(t)
	v := ask(t, address, 10*time.Second)
	accepts(t, v, between(nil, of("a", "b")))
	stop()
	if said := v.Validate(t.Context(), between(of("a", "b"), of("a", "b", "c"))); said.Unavailable == "" {
		t.Fatalf("got %+v of a service that is gone, want it unavailable", said)
	}
	second.serveAt(t, strings.TrimPrefix(address, "unix://"))
	deadline := time.Now().Add(20 * time.Second)
	for {
		said := v.Validate(t.Context(), between(of("a", "b"), of("a", "b", "c")))
		if said.Unavailable == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still unavailable: %s", said.Unavailable)
		}
	}
	if _, received, seen := second.saw(); !slices.Equal(received, []int{2, 1}) || !maps.Equal(seen, of("a", "b", "c")) {
		t.Errorf("it got %v resources and is at %v", received, seen)
	}
}

func TestLargeBaselineComesInParts(t *testing.T) {
	s := &service{}
	address, _ := s.serve(t)
	large := map[string]string{}
	for i := range 24 {
		large[string(rune('a'+i))] = strings.Repeat("x", 700<<10)
	}
	accepts(t, ask(t, address, 30*time.Second), between(nil, large))
	if _, received, seen := s.saw(); len(seen) != 24 || !slices.Equal(received, []int{0, 24}) {
		t.Errorf("it got %v resources and is at %d", received, len(seen))
	}
}

// What a service does against the protocol is no verdict: "unavailable never counts
// against an object".
func TestMisbehavingServiceIsUnavailable(t *testing.T) {
	answer := func(r *validator_v1alpha1.Response) func(stream, *validator_v1alpha1.Request) error {
		return func(s stream, _ *validator_v1alpha1.Request) error { return s.Send(r) }
	}
	for _, c := range []struct {
		name, want string
		timeout    time.Duration
		misbehave  func(stream, *validator_v1alpha1.Request) error
	}{
		{"wrong sequence", "it answered 7 when it was asked about 1", time.Minute, answer(&validator_v1alpha1.Response{Sequence: 7})},
		{"silent", "gave no verdict within 100ms", 100 * time.Millisecond, func(s stream, _ *validator_v1alpha1.Request) error {
			<-s.Context().Done()
			return nil
		}},
		{"huge", "ResourceExhausted", time.Minute, answer(&validator_v1alpha1.Response{Sequence: 1, Unavailable: strings.Repeat("x", 2<<20)})},
		{"ends", "the service ended the conversation", time.Minute, func(stream, *validator_v1alpha1.Request) error { return io.EOF }},
		{"fails", "Internal: no database", time.Minute, func(stream, *validator_v1alpha1.Request) error { return status.Error(codes.Internal, "no database") }},
		{"says so", "it says: no database", time.Minute, answer(&validator_v1alpha1.Response{Sequence: 1, Unavailable: "no database"})},
		{"unknown type", `resource.type "Route" is no type served`, time.Minute, answer(&validator_v1alpha1.Response{
			Sequence: 1, Errors: []*validator_v1alpha1.Error{{Resource: &validator_v1alpha1.ResourceName{Type: "Route"}}},
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &service{misbehave: c.misbehave}
			address, _ := s.serve(t)
			v := ask(t, address, c.timeout)
			for range 2 { // the next candidate begins another conversation
				said := v.Validate(t.Context(), between(nil, of("a")))
				if !strings.Contains(said.Unavailable, c.want) || len(said.Refusals) > 0 {
					t.Fatalf("got %+v, want unavailable with %q", said, c.want)
				}
			}
			if n, _, _ := s.saw(); n != 2 {
				t.Errorf("%d conversations, want 2", n)
			}
		})
	}
}

func TestCancelledAtOnce(t *testing.T) {
	asked := make(chan struct{})
	s := &service{misbehave: func(s stream, _ *validator_v1alpha1.Request) error {
		close(asked)
		<-s.Context().Done()
		return nil
	}}
	address, _ := s.serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if said := ask(t, address, time.Hour).Validate(ctx, between(nil, of("a"))); !strings.Contains(said.Unavailable, "no longer asked") {
		t.Errorf("got %+v", said)
	}
}
