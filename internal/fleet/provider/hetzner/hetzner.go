// Package hetzner is the provider whose instances are servers of Hetzner Cloud.
//
// A server's name is unique in its project, so that a create can be repeated. A project
// is an account: the one of Options, and those that Secrets of Proxies name. Nothing here
// waits for a server, and tokens are in no error.
package hetzner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Options are how Hetzner Cloud is reached.
type Options struct {
	// Cluster is the label that servers must have to be looked at and deleted; empty for any.
	Cluster string
	// Token is that of the project of Proxies that name none; empty for none.
	Token string
	// Endpoint is the URL of the API; empty for Hetzner's.
	Endpoint string
	// Version of this program, for the API's logs.
	Version string
	// Transport makes the requests; nil for the default one.
	Transport http.RoundTripper
}

// Provider makes servers in one project, and sees those of all that it knows.
type Provider struct {
	o        Options
	projects *projects
	own      string // the project that creates go to
	// mine is that of the Secret that this provider was configured with; nil where calls
	// go to all projects. Another Secret may give another project the same name.
	mine *hcloud.Client
}

var (
	_ provider.Provider      = (*Provider)(nil)
	_ provider.CreateOutcome = (*Provider)(nil)
	_ provider.Configurable  = (*Provider)(nil)
)

// New returns a provider. It makes no request.
func New(o Options) *Provider {
	p := &Provider{o: o, projects: newProjects(), own: unnamed}
	if o.Token != "" {
		p.projects.add(unnamed, o.Token, o.client)
	}
	return p
}

// callTime bounds a request whose caller does not.
const callTime = 30 * time.Second

// client tries nothing twice: whoever calls knows better when.
func (o Options) client(token string) *hcloud.Client {
	options := []hcloud.ClientOption{
		hcloud.WithToken(token), hcloud.WithApplication("gatehouse", o.Version), hcloud.WithRetryOpts(hcloud.RetryOpts{MaxRetries: 0}),
		hcloud.WithHTTPClient(&http.Client{Transport: o.Transport, Timeout: callTime}),
	}
	if o.Endpoint != "" {
		options = append(options, hcloud.WithEndpoint(o.Endpoint))
	}
	return hcloud.NewClient(options...)
}

// Create implements [provider.Provider]. Without a machine type it is permanent.
func (p *Provider) Create(ctx context.Context, r provider.CreateRequest) (provider.Instance, error) {
	request, err := createRequest(r)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("%w: %w", provider.ErrPermanent, err)
	}
	client, err := p.client(p.own)
	if err != nil {
		return provider.Instance{}, err
	}
	made, _, err := client.Server.Create(ctx, request)
	switch {
	case hcloud.IsError(err, hcloud.ErrorCodeUniquenessError):
		return p.adopt(ctx, client, r)
	case err != nil:
		return provider.Instance{}, failed("create server "+r.Name, err)
	}
	i := p.instance(p.own, made.Server)
	if made.Action != nil {
		i.Operation = fmt.Sprint(made.Action.ID)
	}
	return i, nil
}

// adopt returns the server that has the name of the request, if it is the Proxy's.
func (p *Provider) adopt(ctx context.Context, client *hcloud.Client, r provider.CreateRequest) (provider.Instance, error) {
	s, _, err := client.Server.GetByName(ctx, r.Name)
	switch {
	case err != nil:
		return provider.Instance{}, failed("look at server "+r.Name, err)
	case s == nil: // it has gone meanwhile, or the list is late
		return provider.Instance{}, fmt.Errorf("%w: the name of server %s is taken, and it is not seen yet", provider.ErrTransient, r.Name)
	case s.Labels[egress_v1alpha1.ClusterLabel] != r.Cluster || s.Labels[egress_v1alpha1.UIDLabel] != r.UID:
		return provider.Instance{}, fmt.Errorf("%w: server %s exists and is not of this Proxy: its labels %s=%q and %s=%q are others; delete or rename the server",
			provider.ErrPermanent, r.Name, egress_v1alpha1.ClusterLabel, s.Labels[egress_v1alpha1.ClusterLabel],
			egress_v1alpha1.UIDLabel, s.Labels[egress_v1alpha1.UIDLabel])
	case s.Status == hcloud.ServerStatusDeleting:
		return provider.Instance{}, fmt.Errorf("%w: server %s is still being deleted", provider.ErrTransient, r.Name)
	}
	return p.instance(p.own, s), nil
}

// Get implements [provider.Provider].
func (p *Provider) Get(ctx context.Context, id string) (provider.Instance, error) {
	at, s, _, err := p.find(ctx, id)
	if err != nil {
		return provider.Instance{}, err
	}
	return p.instance(at.project, s), nil
}

// Delete implements [provider.Provider].
func (p *Provider) Delete(ctx context.Context, id string) error {
	_, s, client, err := p.find(ctx, id)
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return nil
	case err != nil:
		return err
	case s.Status == hcloud.ServerStatusDeleting:
		return nil
	}
	_, _, err = client.Server.DeleteWithResult(ctx, s)
	if err == nil || hcloud.IsError(err, hcloud.ErrorCodeNotFound) {
		return nil
	}
	return failed("delete server "+s.Name, err)
}

// find returns the server with this ID. One without our cluster's label is none of ours,
// whoever wrote its ID.
func (p *Provider) find(ctx context.Context, id string) (place, *hcloud.Server, *hcloud.Client, error) {
	at, err := parseID(id)
	if err != nil {
		return at, nil, nil, err
	}
	client, err := p.client(at.project)
	if err != nil {
		return at, nil, nil, err
	}
	s, _, err := client.Server.GetByID(ctx, at.server)
	switch {
	case err != nil:
		return at, nil, nil, failed("look at server "+id, err)
	case s == nil || !p.ours(s):
		return at, nil, nil, fmt.Errorf("%w: server %s", provider.ErrNotFound, id)
	}
	return at, s, client, nil
}

// ours tells whether a server has our cluster's label and the name of its UID's label.
func (p *Provider) ours(s *hcloud.Server) bool {
	uid, label := s.Labels[egress_v1alpha1.UIDLabel], s.Labels[egress_v1alpha1.ClusterLabel]
	return uid != "" && label != "" && (label == p.o.Cluster || p.o.Cluster == "") && s.Name == provider.NameFromUID(uid)
}

// Find implements [provider.Provider].
func (p *Provider) Find(ctx context.Context, cluster, uid string) ([]provider.Instance, error) {
	return p.list(ctx, egress_v1alpha1.ClusterLabel+"=="+cluster+","+egress_v1alpha1.UIDLabel+"=="+uid)
}

// ListByTag implements [provider.Provider]. Its scopes are projects.
func (p *Provider) ListByTag(ctx context.Context, cluster string) ([]provider.Instance, error) {
	return p.list(ctx, egress_v1alpha1.ClusterLabel+"=="+cluster)
}

func (p *Provider) list(ctx context.Context, selector string) ([]provider.Instance, error) {
	names := []string{p.own}
	if p.mine == nil {
		names = p.projects.names()
	}
	var found []provider.Instance
	var unseen provider.PartialError
	for _, name := range names {
		here, err := p.project(ctx, name, selector)
		if err != nil {
			unseen.Scopes, unseen.Err = append(unseen.Scopes, scope(name)), err
			continue
		}
		found = append(found, here...)
	}
	switch {
	case len(unseen.Scopes) == 0:
		return found, nil
	case len(names) == 1:
		return nil, unseen.Err
	}
	return found, &unseen
}

// project lists the servers of one project, all or none.
func (p *Provider) project(ctx context.Context, name, selector string) ([]provider.Instance, error) {
	client, err := p.client(name)
	if err != nil {
		return nil, err
	}
	servers, err := client.Server.AllWithOpts(ctx, hcloud.ServerListOpts{LabelSelector: selector})
	if err != nil {
		return nil, failed("list the servers of the "+scope(name), err)
	}
	slices.SortFunc(servers, func(a, b *hcloud.Server) int { return int(a.ID - b.ID) })
	servers = slices.CompactFunc(servers, func(a, b *hcloud.Server) bool { return a.ID == b.ID }) // pages shift while servers come and go
	var found []provider.Instance
	for _, s := range servers {
		if p.ours(s) {
			found = append(found, p.instance(name, s))
		}
	}
	return found, nil
}
