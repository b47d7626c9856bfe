package gcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Keys of the Secret that providerConfigRef names.
const (
	credentialsKey = "credentials.json"
	projectKey     = "project"
)

// mostAccounts bounds what is remembered of accounts; the least recently used go.
const mostAccounts = 256

// account is a project and what to get in with.
type account struct {
	project string
	// digest is of the credentials; empty for the machine's own.
	digest string
	// key are the credentials.
	key serviceKey
}

// serviceKey is the JSON of a service account's key. It is never printed.
type serviceKey string

func (serviceKey) String() string   { return "credentials" }
func (serviceKey) GoString() string { return "credentials" }

// parseConfig reads the Secret of a providerConfigRef. Nothing of credentials is said.
func parseConfig(config map[string][]byte, o Options) (account, error) {
	key, project := config[credentialsKey], strings.TrimSpace(string(config[projectKey]))
	if len(key) == 0 && project == "" {
		return account{}, fmt.Errorf("%w: the Secret of spec.providerConfigRef has neither %s nor %s", provider.ErrPermanent, credentialsKey, projectKey)
	}
	a := account{project: project}
	if len(key) > 0 {
		owner, err := checkKey(key)
		if err != nil {
			return account{}, err
		}
		digest := sha256.Sum256(key)
		a.key, a.digest = serviceKey(key), hex.EncodeToString(digest[:])
		if a.project == "" {
			a.project = owner
		}
	}
	if a.project == "" {
		a.project = o.Project
	}
	if !projectForm.MatchString(a.project) {
		return account{}, fmt.Errorf("%w: %s of the Secret of spec.providerConfigRef is no project ID: give 6 to 30 lower-case letters, digits and dashes", provider.ErrPermanent, projectKey)
	}
	return a, nil
}

// checkKey returns the project of a service account's key. Other kinds of credentials
// may name files, programs and servers to ask, which who writes a Secret may not choose.
func checkKey(key []byte) (project string, err error) {
	var form struct {
		Type    string `json:"type"`
		Project string `json:"project_id"`
		Email   string `json:"client_email"`
		Private string `json:"private_key"`
	}
	switch err := json.Unmarshal(key, &form); {
	case err != nil:
		return "", fmt.Errorf("%w: %s of the Secret of spec.providerConfigRef is not JSON", provider.ErrPermanent, credentialsKey)
	case form.Type != "service_account":
		return "", fmt.Errorf("%w: %s of the Secret of spec.providerConfigRef has not the type service_account: give the key of a service account", provider.ErrPermanent, credentialsKey)
	case form.Email == "" || form.Private == "":
		return "", fmt.Errorf("%w: %s of the Secret of spec.providerConfigRef has no client_email or private_key", provider.ErrPermanent, credentialsKey)
	}
	return form.Project, nil
}

// accounts are those that were used, with a session for each set of credentials.
type accounts struct {
	o        Options
	mu       sync.Mutex
	sessions map[string]*session // by digest
	known    map[account]time.Time
}

// use remembers an account, for lists and for IDs in its project.
func (a *accounts) use(used account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[used] = a.o.Now()
	if len(a.known) > mostAccounts {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(a.known)), func(x, y account) int { return a.known[x].Compare(a.known[y]) })
		delete(a.known, oldest)
		a.drop(oldest.digest)
	}
}

// drop ends the session of credentials that no account has any more.
func (a *accounts) drop(digest string) {
	for used := range a.known {
		if used.digest == digest {
			return
		}
	}
	if s := a.sessions[digest]; s != nil {
		s.close()
		delete(a.sessions, digest)
	}
}

// session returns that of an account's credentials.
func (a *accounts) session(ctx context.Context, used account) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[used.digest]; s != nil {
		return s, nil
	}
	s, err := newSession(context.WithoutCancel(ctx), a.o, used.key)
	if err == nil {
		a.sessions[used.digest] = s
	}
	return s, err
}

// reach returns where an ID points to, and a session that can get there: this
// account's, or, from the machine's own, that of the account known for the project.
func (p *Provider) reach(ctx context.Context, id string) (location, *session, error) {
	at, err := parseID(id, p.account.project)
	if err != nil {
		return at, nil, err
	}
	if err := ctx.Err(); err != nil {
		return at, nil, fmt.Errorf("%s: %w", at, err)
	}
	s, err := p.session(ctx, p.inProject(at.project))
	return at, s, err
}

func (p *Provider) inProject(project string) account {
	with := account{project: project, digest: p.account.digest, key: p.account.key}
	if p.account.digest != "" || project == p.o.Project {
		p.use(with)
		return with
	}
	if known := p.of(project); len(known) > 0 {
		return known[0]
	}
	p.use(with)
	return with
}

// of returns the accounts known for a project, the most recently used first.
func (a *accounts) of(project string) []account {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := []account{}
	for used := range a.known {
		if used.project == project {
			out = append(out, used)
		}
	}
	slices.SortFunc(out, func(x, y account) int {
		if c := a.known[y].Compare(a.known[x]); c != 0 {
			return c
		}
		return strings.Compare(x.digest, y.digest)
	})
	return out
}

// projects returns those of all accounts, and the fleet's own.
func (a *accounts) projects() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	set := map[string]bool{}
	if a.o.Project != "" {
		set[a.o.Project] = true
	}
	for used := range a.known {
		set[used.project] = true
	}
	return slices.Sorted(maps.Keys(set))
}
