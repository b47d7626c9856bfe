package envoy

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

func TestServeEndpointsEnds(t *testing.T) {
	for name, c := range map[string]struct{ updates, want string }{
		"with its input":              {`{"addresses":["10.0.1.11"]}` + "\n", ""},
		"at a line that is no update": {"10.0.1.11\n", `read the endpoints "10.0.1.11\n"`},
		"at an address that is none":  {`{"addresses":[""]}` + "\n", `endpoints [""]`},
	} {
		t.Run(name, func(t *testing.T) {
			err := ServeEndpoints(t.Context(), "@"+t.Name(), strings.NewReader(c.updates), io.Discard)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestServeEndpointsEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	updates, more := io.Pipe()
	defer more.Close()
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := ServeEndpoints(ctx, "@"+t.Name(), updates, io.Discard); err != nil {
			t.Error(err)
		}
	})
	if _, err := io.WriteString(more, "{}\n"); err != nil { // it is read, so it serves
		t.Error(err)
	}
	cancel()
	serving.Wait()
}

func TestServeEndpointsFindsItsSocketBusy(t *testing.T) {
	socket := "@" + t.Name()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	err = ServeEndpoints(t.Context(), socket, strings.NewReader(""), io.Discard)
	if err == nil || !strings.Contains(err.Error(), socket) {
		t.Errorf("error %v, want the socket that is busy", err)
	}
}
