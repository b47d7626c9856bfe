package gcp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"cloud.google.com/go/auth/credentials"
	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/api/option"
	google_http "google.golang.org/api/transport/http"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// scope is what tokens are asked for.
const scope = "https://www.googleapis.com/auth/compute"

// session is one set of credentials with the clients that use them.
type session struct {
	o         Options
	http      *http.Client
	instances *compute.InstancesClient

	mu           sync.Mutex
	refusedSince time.Time // the first of the refusals of our credentials without a success between
}

// newSession looks for credentials and makes the clients. It asks nobody.
func newSession(ctx context.Context, o Options, key serviceKey) (*session, error) {
	carrier, err := newCarrier(ctx, o, key)
	if err != nil {
		return nil, err
	}
	s := &session{o: o, http: carrier}
	s.instances, err = s.client(ctx, carrier)
	return s, err
}

// newCarrier returns what authenticates requests. A key signs its own tokens, so that
// no address in it is ever asked.
func newCarrier(ctx context.Context, o Options, key serviceKey) (*http.Client, error) {
	if key == "" && (o.Transport != nil || o.Endpoint != "") {
		return &http.Client{Transport: o.Transport, CheckRedirect: noRedirect}, nil
	}
	options := []option.ClientOption{option.WithScopes(scope), option.WithLogger(slog.New(slog.DiscardHandler))}
	if key != "" {
		signer, err := credentials.NewCredentialsFromJSON(credentials.ServiceAccount, []byte(key), &credentials.DetectOptions{
			Scopes: []string{scope}, UseSelfSignedJWT: true, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return nil, fmt.Errorf("%w: %s of the Secret of spec.providerConfigRef is no usable key of a service account", provider.ErrPermanent, credentialsKey)
		}
		options = append(options, option.WithAuthCredentials(signer))
	}
	base := o.Transport
	if base == nil {
		base = http.DefaultTransport.(*http.Transport).Clone()
	}
	carrier, err := google_http.NewTransport(ctx, base, options...)
	if err != nil {
		return nil, fmt.Errorf("%w: find credentials of this machine: %w (give a service account to its workload, or spec.providerConfigRef)", provider.ErrTransient, err)
	}
	return &http.Client{Transport: carrier, CheckRedirect: noRedirect}, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// client makes one that never logs, nor repeats a request by itself: who repeats, how
// soon and under which limit is the caller's.
func (s *session) client(ctx context.Context, carrier *http.Client) (*compute.InstancesClient, error) {
	c, err := compute.NewInstancesRESTClient(ctx, s.options(carrier)...)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	*c.CallOptions = compute.InstancesCallOptions{}
	return c, nil
}

func (s *session) options(carrier *http.Client) []option.ClientOption {
	out := []option.ClientOption{option.WithHTTPClient(carrier), option.WithLogger(slog.New(slog.DiscardHandler))}
	if s.o.Endpoint != "" {
		out = append(out, option.WithEndpoint(s.o.Endpoint))
	}
	return out
}

// bounded ends requests with a context, for calls of the client that use none.
type bounded struct {
	ctx  context.Context //nolint:containedctx // it lives as long as the one call
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	return b.next.RoundTrip(r.WithContext(b.ctx))
}

// lister is a client whose requests end with ctx. The list of the client ignores the
// context that it is given.
func (s *session) lister(ctx context.Context) (*compute.InstancesClient, error) {
	next := s.http.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	return s.client(ctx, &http.Client{Transport: bounded{ctx, next}, CheckRedirect: noRedirect})
}

func (s *session) get(ctx context.Context, at location) (*computepb.Instance, error) {
	it, err := s.instances.Get(ctx, &computepb.GetInstanceRequest{Project: at.project, Zone: at.zone, Instance: at.name})
	return it, s.classify(err, at)
}

func (s *session) delete(ctx context.Context, at location) error {
	_, err := s.instances.Delete(ctx, &computepb.DeleteInstanceRequest{Project: at.project, Zone: at.zone, Instance: at.name})
	return s.classify(err, at)
}

func (s *session) insert(ctx context.Context, r *computepb.InsertInstanceRequest) (*computepb.Operation, error) {
	op, err := s.instances.Insert(ctx, r)
	at := location{r.GetProject(), r.GetZone(), r.GetInstanceResource().GetName()}
	if err := s.classify(err, at); err != nil {
		return nil, err
	}
	return op.Proto(), nil
}

func (s *session) close() {
	s.http.CloseIdleConnections()
}
