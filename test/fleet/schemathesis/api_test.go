package schemathesis

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

const token = "token-of-the-test"

// impatient is a store for which nobody waits long, since most of what is asked at random
// is never there.
type impatient struct{ lease.Granter }

func (s impatient) AcquireWithin(ctx context.Context, r lease.Request, wait time.Duration) (lease.Lease, error) {
	return s.Granter.AcquireWithin(ctx, r, min(wait, 20*time.Millisecond))
}

// serve starts the lease API over a hundred proxies, and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	store, known := lease.NewWaiting(lease.NewMemory(lease.Options{Now: time.Now}), lease.WaitOptions{}), book{}
	for i := range 100 {
		o := offer.Of(proxy(i), &core_v1.Secret{Data: map[string][]byte{"lease-key": []byte(strings.Repeat("k", 32))}})
		if known = append(known, o); store.Set(t.Context(), o.Lease) != nil {
			t.Fatal("a store in memory fails")
		}
	}
	api := discovery.New(discovery.Options{Store: impatient{store}, Book: known, Token: token, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := api.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
	return "http://" + l.Addr().String()
}

// proxy is healthy; every second one has credentials for each lease.
func proxy(i int) *egress_v1alpha1.Proxy {
	name := fmt.Sprintf("de-%d", i)
	p := &egress_v1alpha1.Proxy{
		Namespace: "crawl", Name: name, UID: types.UID(name),
		Spec: egress_v1alpha1.ProxySpec{
			Mode: egress_v1alpha1.Managed, Provider: "process", Attributes: map[string]egress_v1alpha1.AttributeValue{"country": "de"},
		},
		Status: egress_v1alpha1.ProxyStatus{IP: fmt.Sprintf("192.0.2.%d", i), LatencyMillis: 20, Conditions: []meta_v1.Condition{
			{Type: egress_v1alpha1.Provisioned, Status: meta_v1.ConditionTrue}, {Type: egress_v1alpha1.Healthy, Status: meta_v1.ConditionTrue},
		}},
	}
	if i%2 == 1 {
		p.Spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "auth"}}
	}
	return p
}

// book has offers in order.
type book []*offer.Offer

func (b book) All() iter.Seq[*offer.Offer] { return slices.Values(b) }

func (b book) ByUID(uid string) *offer.Offer {
	for _, o := range b {
		if o.Lease.UID == uid {
			return o
		}
	}
	return nil
}
