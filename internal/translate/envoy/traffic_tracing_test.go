package envoy

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	otlp_collector_v1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp_common_v1 "go.opentelemetry.io/proto/otlp/common/v1"
	otlp_trace_v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// collector is a real OTLP collector that keeps what it is sent.
type collector struct {
	otlp_collector_v1.UnimplementedTraceServiceServer
	at    netip.AddrPort
	spans chan received
}

// received is one span, with the service and the header that it came with.
type received struct {
	*otlp_trace_v1.Span
	Service, Token string
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{at: netip.MustParseAddrPort(listener.Addr().String()), spans: make(chan received, 1000)}
	server := grpc.NewServer()
	otlp_collector_v1.RegisterTraceServiceServer(server, c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return c
}

func (c *collector) Export(ctx context.Context, r *otlp_collector_v1.ExportTraceServiceRequest) (*otlp_collector_v1.ExportTraceServiceResponse, error) {
	sent, _ := metadata.FromIncomingContext(ctx)
	for _, resource := range r.GetResourceSpans() {
		service := attributes(resource.GetResource().GetAttributes())["service.name"]
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans <- received{span, service, fmt.Sprint(sent.Get("x-token"))}
			}
		}
	}
	return &otlp_collector_v1.ExportTraceServiceResponse{}, nil
}

// next is the next span of a client's request, and not of a try at a backend.
func (c *collector) next(t *testing.T) received {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case span := <-c.spans:
			if span.GetKind() == otlp_trace_v1.Span_SPAN_KIND_SERVER {
				return span
			}
		case <-deadline:
			t.Fatal("no span arrives")
		}
	}
}

func attributes(list []*otlp_common_v1.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		if _, is := a.GetValue().GetValue().(*otlp_common_v1.AnyValue_IntValue); is {
			out[a.GetKey()] = fmt.Sprintf("int %d", a.GetValue().GetIntValue())
		} else {
			out[a.GetKey()] = a.GetValue().GetStringValue()
		}
	}
	return out
}

func traced(t *testing.T, tr model.Tracing) (traffic, *collector) {
	t.Helper()
	c := startCollector(t)
	w := plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{{Name: "shop/all", Match: prefix("/"), Forward: to("one")}}}}, backends(t, "one"))
	w.addBackend("collector", model.UpstreamHTTP2, c.at)
	tr.Collector = backendID("collector")
	w.Gateways[0].Tracing = &tr
	return serve(t, w), c
}

// TestSpansArrive: a real collector gets a span of a request, with everything that
// was asked for, by the names and types of OpenTelemetry.
func TestSpansArrive(t *testing.T) {
	all := []model.SpanAttribute{
		{Name: "text", Source: model.FromText, Value: "50%REQ(:PATH)%"},
		{Name: "request-header", Source: model.FromHeader, Value: "x-user"},
		{Name: "response-header", Source: model.FromHeader, Value: "content-type"},
		{Name: "no-header", Source: model.FromHeader, Value: "x-none"},
		{Name: "request.agent", Source: model.FromStandard, Value: "http.request.header.user-agent"},
		{Name: "response.type", Source: model.FromStandard, Value: "http.response.header.content-type"},
	}
	for _, key := range model.StandardAttributes {
		all = append(all, model.SpanAttribute{Name: key, Source: model.FromStandard, Value: key})
	}
	f, c := traced(t, model.Tracing{
		Service: "edge", Span: "a span", Millionths: 1_000_000, Parents: true, Attributes: all, Headers: []model.Header{{Name: "X-Token", Value: "secret"}},
	})
	f.ask(question{}) // the proxy sends spans by the half-dozen
	f.ask(question{})
	got := f.ask(question{Host: "a.example:8080", Path: "/a/b?c=d", Header: http.Header{"X-User": {"ann"}, "User-Agent": {"test"}}})
	c.next(t)
	c.next(t)
	span := c.next(t)
	if span.GetName() != "a span" || span.Service != "edge" || span.Token != "[secret]" {
		t.Errorf("span %q of service %q, sent with %s", span.GetName(), span.Service, span.Token)
	}
	port := netip.MustParseAddrPort(f.envoy.Address(httpPort)).Port()
	has := attributes(span.GetAttributes())
	kind := got.Header.Get("Content-Type")
	for name, want := range map[string]string{
		"text": "50%REQ(:PATH)%", "request-header": "ann", "response-header": kind, "request.agent": "test", "response.type": kind,
		"client.address": "127.0.0.1", "network.peer.address": "127.0.0.1",
		"http.request.method": "GET", "http.request.method_original": "GET", "http.response.status_code": "int 200",
		"network.protocol.name": "http", "network.protocol.version": "1.1", "network.transport": "tcp", "network.type": "ipv4",
		"server.port": fmt.Sprintf("int %d", port),
		"url.full":    "http://a.example:8080/a/b?c=d", "url.path": "/a/b", "url.query": "c=d", "url.scheme": "http", "user_agent.original": "test",
	} {
		if has[name] != want {
			t.Errorf("%s: %q, want %q", name, has[name], want)
		}
	}
	for _, name := range []string{"no-header"} {
		if value, is := has[name]; is {
			t.Errorf("%s: %q, want none", name, value)
		}
	}
	if has["client.port"] == "" || has["client.port"] != has["network.peer.port"] {
		t.Errorf("ports of the client: %q and %q", has["client.port"], has["network.peer.port"])
	}
}

// TestSampling: what is sampled of new traces, and of those that others began. No
// client can have its request traced.
func TestSampling(t *testing.T) {
	parent := func(sampled string) http.Header {
		return http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" + sampled}}
	}
	forced := http.Header{"X-Envoy-Force-Trace": {"1"}, "X-Client-Trace-Id": {"one"}}
	for name, c := range map[string]struct {
		tracing model.Tracing
		ask     []http.Header
		want    string // paths of the requests that are traced
	}{
		"all, parents decide":    {model.Tracing{Millionths: 1_000_000, Parents: true}, []http.Header{nil, parent("01"), parent("00")}, "/0 /1"},
		"none, parents decide":   {model.Tracing{Parents: true}, []http.Header{nil, parent("01"), parent("00"), forced}, "/1"},
		"all, whatever parents":  {model.Tracing{Millionths: 1_000_000}, []http.Header{nil, parent("01"), parent("00")}, "/0 /1 /2"},
		"none, whatever parents": {model.Tracing{}, []http.Header{nil, parent("01"), parent("00"), forced}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := traced(t, c.tracing)
			var got []string
			for i, header := range c.ask {
				answer := f.ask(question{Path: fmt.Sprintf("/%d", i), Header: header})
				if strings.HasSuffix(answer.Headers.Get("Traceparent"), "-01") {
					got = append(got, answer.Path)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("traced %q, want %q", got, c.want)
			}
		})
	}
}
