package live

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// tell is one life of an instance.
func tell(l observe.Live) {
	l.Started(observe.Start{Version: "0.1.0", Envoy: "1.40.0", EnvoyHow: "cache", Admin: "http://127.0.0.1:19000", Paths: []string{"shop"}})
	l.Loaded(observe.Loaded{
		Files: 9, Objects: 31, ByState: map[string]int{"Serving": 30, "Rejected": 1},
		Problems: []observe.Problem{{
			Kind: "HTTPRoute", Name: "shop/search", State: "Rejected", Field: "spec.rules[0].matches[0].path.value",
			Message: `"/(" is no regular expression`, Where: "shop/search.yaml:18", Serves: "nothing accepted yet",
		}, {Kind: "HTTPRoute", Name: "shop/new", State: "Pending", Message: "no proxy is connected"}},
	})
	l.Ready(observe.Ready{Took: 412 * time.Millisecond, Gateways: []observe.Served{
		{Name: "shop/edge", Addresses: []string{"http://127.0.0.1:8080", "tcp 127.0.0.1:9000"}}, {Name: "shop/idle"},
	}})
	l.Event(observe.LiveEvent{
		At: time.Date(2026, 11, 29, 14, 2, 11, 0, time.Local), Kind: "HTTPRoute", Name: "shop/checkout",
		What: observe.Changed, Acked: 1, Total: 1, Took: 9 * time.Millisecond,
	})
	l.Stopping("a signal came; draining")
}

func TestView(t *testing.T) {
	var b bytes.Buffer
	tell(NewView(&b, render.Style{Unicode: true}))
	want := `gatehouse 0.1.0 · envoy 1.40.0 (cache) · admin http://127.0.0.1:19000
watching shop: 9 files, 31 objects: 30 serving, 1 rejected
  ✗ rejected  httproute shop/search
              spec.rules[0].matches[0].path.value: "/(" is no regular expression
              file shop/search.yaml:18 · nothing accepted yet
gateway shop/edge  http://127.0.0.1:8080 tcp 127.0.0.1:9000
gateway shop/idle  no address
ready in 412 ms

14:02:11.000  httproute shop/checkout   changed    acknowledged 1/1 in 9 ms
stopping: a signal came; draining
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestViewFitsTheTerminal: words stay whole, and files without a readable object
// are named by their place.
func TestViewFitsTheTerminal(t *testing.T) {
	var b bytes.Buffer
	v := NewView(&b, render.Style{Unicode: true, Width: 50})
	v.Started(observe.Start{Version: "0.1.0", Envoy: "1.40.0", EnvoyHow: "cache", Admin: "http://127.0.0.1:19000", Paths: []string{"examples/shop", "examples/extra"}})
	v.Loaded(observe.Loaded{Files: 9, Objects: 31, ByState: map[string]int{"Serving": 30, "Rejected": 1}, Problems: []observe.Problem{
		{State: "Rejected", Message: "a FIFO is not read", Where: "conf/fifo.yaml"},
	}})
	v.Event(observe.LiveEvent{At: time.Date(2026, 11, 29, 14, 2, 11, 0, time.Local), What: observe.Refused, Where: "conf/x.yaml:7", Message: "not YAML"})
	want := `gatehouse 0.1.0 · envoy 1.40.0 (cache) · admin
  http://127.0.0.1:19000
watching examples/shop, examples/extra: 9 files,
  31 objects: 30 serving, 1 rejected
  ✗ rejected  file conf/fifo.yaml
              a FIFO is not read
14:02:11.000  file conf/x.yaml:7        rejected
              not YAML
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestLogPrintsReadyOnly(t *testing.T) {
	var out, log bytes.Buffer
	tell(NewLog(observe.NewLogger(&log, observe.LogOptions{}), &out, render.Style{}))
	want := "gateway shop/edge  http://127.0.0.1:8080 tcp 127.0.0.1:9000\ngateway shop/idle  no address\nready in 412 ms\n"
	if out.String() != want {
		t.Errorf("standard output\n%s\nwant\n%s", out.String(), want)
	}
	for _, want := range []string{
		"msg=started version=0.1.0", "msg=loaded files=9 objects=31", `msg="object is not serving" kind=HTTPRoute object=shop/search state=Rejected`,
		"msg=ready took=412ms", `msg="object changed" kind=HTTPRoute object=shop/checkout what=changed acknowledged=1 total=1 took=9ms`, "msg=stopping",
	} {
		if !bytes.Contains(log.Bytes(), []byte(want)) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
}

func TestLogSaysHowObjectsStand(t *testing.T) {
	for state, want := range map[verdict.State]string{
		verdict.Serving: "object serves with a warning", verdict.Partial: "object serves in part",
		verdict.Excluded: "object is not serving", verdict.Rejected: "object is not serving",
	} {
		if got := standing(string(state)); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
}

// TestLinesStayWhole: events from many goroutines do not mix.
func TestLinesStayWhole(t *testing.T) {
	var b bytes.Buffer
	v := NewView(&b, render.Style{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				v.Event(observe.LiveEvent{Kind: "Service", Name: "shop/web", What: observe.Changed, Acked: 1, Total: 1, Took: time.Millisecond})
			}
		})
	}
	wg.Wait()
	lines := bytes.Split(bytes.TrimSpace(b.Bytes()), []byte("\n"))
	for _, line := range lines {
		if !bytes.HasSuffix(line, []byte("  service shop/web          changed    acknowledged 1/1 in 1 ms")) {
			t.Errorf("mixed: %q", line)
		}
	}
	if len(lines) != 400 {
		t.Errorf("%d lines, want 400", len(lines))
	}
}
