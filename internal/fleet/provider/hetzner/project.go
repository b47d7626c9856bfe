package hetzner

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// unnamed is the project of Options.Token.
const unnamed = ""

// Keys of the Secret that providerConfigRef names.
const (
	// TokenKey is a token of the project's API with the right to write.
	TokenKey = "token"
	// ProjectKey is any name that its owner gives the project. It is part of the IDs of
	// its servers and stays when the token changes.
	ProjectKey = "project"
)

var projectName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// projects are those that this process knows the token of.
type projects struct {
	mu   sync.Mutex
	list map[string]project
}

type project struct {
	token  string
	client *hcloud.Client
}

func newProjects() *projects { return &projects{list: make(map[string]project)} }

// add returns the client of a token, which is the project's from now on.
func (p *projects) add(name, token string, client func(token string) *hcloud.Client) *hcloud.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list[name].token != token {
		p.list[name] = project{token, client(token)}
	}
	return p.list[name].client
}

// client is that of a project: of our own Secret if that names it.
func (p *Provider) client(name string) (*hcloud.Client, error) {
	if p.mine != nil && name == p.own {
		return p.mine, nil
	}
	return p.projects.client(name)
}

func (p *projects) client(name string) (*hcloud.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch known, ok := p.list[name]; {
	case ok:
		return known.client, nil
	case name == unnamed:
		return nil, fmt.Errorf("%w: there is no token of Hetzner Cloud: set HCLOUD_TOKEN, or name a Secret with %s and %s in spec.providerConfigRef", provider.ErrPermanent, TokenKey, ProjectKey)
	default:
		return nil, fmt.Errorf("%w: no token of project %q is known: the Secret of spec.providerConfigRef must name this project, in key %s", provider.ErrPermanent, name, ProjectKey)
	}
}

func (p *projects) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.list))
}

func scope(name string) string {
	if name == unnamed {
		return "project of HCLOUD_TOKEN"
	}
	return "project " + name
}

// Configured implements [provider.Configurable]: config holds [TokenKey] and [ProjectKey].
// A new token of a known project takes the place of the old one.
func (p *Provider) Configured(config map[string][]byte) (provider.Provider, error) {
	token, name := strings.TrimSpace(string(config[TokenKey])), strings.TrimSpace(string(config[ProjectKey]))
	switch {
	case token == "":
		return nil, fmt.Errorf("%w: key %s is missing: it holds a token of the project, with the right to write", provider.ErrPermanent, TokenKey)
	case strings.ContainsFunc(token, func(c rune) bool { return c < '!' || c > '~' }):
		return nil, fmt.Errorf("%w: key %s is no token: it holds letters and digits only", provider.ErrPermanent, TokenKey)
	case name == "":
		return nil, fmt.Errorf("%w: key %s is missing: give the token's project a name that stays when the token changes", provider.ErrPermanent, ProjectKey)
	case !projectName.MatchString(name):
		return nil, fmt.Errorf("%w: key %s: %q: a project's name has at most 63 small letters, digits and dashes, and begins with a letter", provider.ErrPermanent, ProjectKey, name)
	}
	return &Provider{o: p.o, projects: p.projects, own: name, mine: p.projects.add(name, token, p.o.client)}, nil
}
