// Package gcp makes virtual machines of Google Compute Engine, one for each Proxy.
//
// It calls instances.insert, get, delete and aggregatedList over REST, and nothing else;
// zoneOperations.get only with [Options.ReadOperations]. It never waits for an
// operation: that an instance runs is found by looking again. Names are made from UIDs,
// so a create that is repeated meets the first one (409) and takes it over. An ID is
// projects/P/zones/Z/instances/NAME, so that it stays true when the zone of a Proxy or
// the project of the fleet is changed; without projects/P it is in the project of
// [Options].
//
// User data, credentials and keys are in no error and no log.
package gcp

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Options are the fleet's, for all Proxies.
type Options struct {
	// Project is where instances are made, unless a providerConfigRef says otherwise.
	Project string
	// Cluster is the label that instances must have to be deleted; empty asks for any.
	Cluster string
	// Endpoint is another than Google's, for tests. Nothing authenticates there but with
	// the credentials of a providerConfigRef.
	Endpoint string
	// ReadOperations allows zoneOperations.get, which tells why an accepted create came
	// to nothing: the provider is a [provider.CreateOutcome] then.
	ReadOperations bool
	// Timeout is of one request. Default 30 s.
	Timeout time.Duration
	// Transport carries requests, for tests; nil is the network.
	Transport http.RoundTripper
	// Now is the clock; nil is the machine's.
	Now func() time.Time
}

// Provider is a [provider.Provider] in one account; see [New].
type Provider struct {
	*accounts
	account account
}

// New returns the provider with the account of the machine it runs on: application
// default credentials, such as workload identity. They are looked for at the first call.
func New(o Options) provider.Provider {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return offered(&Provider{
		accounts: &accounts{o: o, sessions: map[string]*session{}, known: map[account]time.Time{}},
		account:  account{project: o.Project},
	})
}

// offered lets what can read operations be seen to.
func offered(p *Provider) provider.Provider {
	if p.o.ReadOperations {
		return reader{p}
	}
	return p
}

// Configured implements [provider.Configurable]: config has credentials.json, the key
// of a service account, or project, or both.
func (p *Provider) Configured(config map[string][]byte) (provider.Provider, error) {
	a, err := parseConfig(config, p.o)
	if err != nil {
		return nil, err
	}
	p.use(a)
	return offered(&Provider{accounts: p.accounts, account: a}), nil
}

// Get implements [provider.Provider].
func (p *Provider) Get(ctx context.Context, id string) (provider.Instance, error) {
	at, s, err := p.reach(ctx, id)
	if err != nil {
		return provider.Instance{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	it, err := s.get(ctx, at)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("get %s: %w", at, err)
	}
	return seen(at.project, it), nil
}

// Delete implements [provider.Provider]. It looks at the labels first: what is not ours
// is never deleted, whatever a status says.
func (p *Provider) Delete(ctx context.Context, id string) error {
	at, s, err := p.reach(ctx, id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	switch it, err := s.get(ctx, at); {
	case isNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("delete %s: %w", at, err)
	case !p.owned(it):
		return fmt.Errorf("delete %s: %w: it has not the labels of an instance of this cluster", at, provider.ErrPermanent)
	}
	if err := s.delete(ctx, at); err != nil && !isNotFound(err) {
		return fmt.Errorf("delete %s: %w", at, err)
	}
	return nil
}

// owned says whether an instance was made by this provider, for this cluster if known.
func (p *Provider) owned(it *computepb.Instance) bool {
	i := seen("", it)
	return i.UID != "" && i.Name == provider.NameFromUID(i.UID) && i.Cluster != "" && (p.o.Cluster == "" || i.Cluster == p.o.Cluster)
}
