package egress_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
)

// A crawler asks for a proxy that suits its target, and tells when the target refuses it.
func Example() {
	client := &egress.Client{BaseURL: "http://127.0.0.1:8090", Token: os.Getenv("DISCOVERY_TOKEN")}
	visit := func(ctx context.Context, page string) error {
		lease, err := client.Acquire(ctx, egress.Request{
			Selector: map[string]string{"country": "de"}, Target: "shop.example", Wait: 10 * time.Second,
		})
		if err != nil {
			return err
		}
		defer func() { _ = lease.Release(context.WithoutCancel(ctx)) }()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, http.NoBody)
		if err != nil {
			return err
		}
		response, err := (&http.Client{Transport: lease.Transport()}).Do(r)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusForbidden {
			return lease.Report(ctx, egress.Banned, "")
		}
		return nil
	}
	_ = visit
}

// Long work keeps its lease alive, and stops when the lease ends all the same.
func ExampleLease_KeepAlive() {
	work := func(context.Context, *egress.Lease) error { return nil }
	one := func(ctx context.Context, lease *egress.Lease) error {
		ctx, cancel := context.WithCancelCause(ctx)
		kept := make(chan struct{})
		go func() {
			defer close(kept)
			if err := lease.KeepAlive(ctx); err != nil {
				cancel(err) // the proxy must not be used any more
			}
		}()
		err := work(ctx, lease)
		cancel(nil)
		<-kept
		return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	_ = one
}

// A refusal says what there is: so many proxies, and why none of them will do.
func ExampleError() {
	var err error = &egress.Error{Code: "no_match", Considered: 3, InCooldown: 3, RetryAfter: 4 * time.Minute}
	if e, ok := errors.AsType[*egress.Error](err); ok && errors.Is(err, egress.ErrNoMatch) {
		fmt.Printf("%d of %d rest, come back in %v\n", e.InCooldown, e.Considered, e.RetryAfter)
	}
	// Output: 3 of 3 rest, come back in 4m0s
}
