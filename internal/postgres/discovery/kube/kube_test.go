package kube_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube"
)

// refusing is the address of a server that is not there.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Where the API is away from the start, it says why, and ends at once when it is told to,
// in whatever pause it is.
func TestRunEndsWhileTheAPIIsAway(t *testing.T) {
	defer goleak.VerifyNone(t)
	d, err := kube.New(kube.Options{Config: &rest.Config{Host: refusing(t)}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if why := d.Waiting(); why != "the first list of Services" {
		t.Errorf("before it runs it waits for %q", why)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); d.Run(ctx, nil) }()
	for late := time.Now().Add(30 * time.Second); !strings.HasSuffix(d.Waiting(), "connection refused"); {
		if time.Now().After(late) {
			t.Fatalf("it waits for %q", d.Waiting())
		}
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}
}
