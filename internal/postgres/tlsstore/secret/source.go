package secret

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

// Options say which Secret, and what may be done to it.
type Options struct {
	Namespace, Object string // its name is Object
	// Generate makes the Secret while there is none, Renew replaces what we made before
	// its end. Both make a certificate for Names: DNS names and IP addresses, at least one.
	Generate, Renew bool
	Names           []string
}

// Source follows a Secret: a [tlsstore.Source].
type Source struct {
	Options
	follow *follower
	look   time.Duration // how often the time is looked at: it makes certificates expire
}

// New returns the source; it asks nothing before Run. The error says what is wrong with
// the connection's settings.
func New(config *rest.Config, o Options) (*Source, error) {
	f, err := newFollower(config, o.Namespace, o.Object)
	if err != nil {
		return nil, fmt.Errorf("the cluster cannot be asked for certificates: %w", err)
	}
	return &Source{Options: o, follow: f, look: time.Minute}, nil
}

// Name implements [tlsstore.Source].
func (s *Source) Name() string { return "Secret " + s.object() }

// Origin implements [tlsstore.Source].
func (s *Source) Origin() slog.Attr { return slog.String(observe.KeyFrom, s.Name()) }

func (s *Source) object() string { return s.Namespace + "/" + s.Object }

// again is how long after a write that failed the next one is tried.
const again = 10 * time.Second

// Run implements [tlsstore.Source].
func (s *Source) Run(ctx context.Context, to *tlsstore.Store) {
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() { s.follow.run(ctx) })
	r := reader{Source: s, to: to}
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.follow.news:
		case <-next.C:
		}
		next.Reset(r.read(ctx))
	}
}

// reader hands what is known to a store. It belongs to one goroutine.
type reader struct {
	*Source
	to     *tlsstore.Store
	served *core_v1.Secret // the last one that did
	away   bool            // it was said that the API does not answer
}

// read acts on what is known, and says when to do so again if there is no news.
func (r *reader) read(ctx context.Context) time.Duration {
	now := r.follow.now()
	r.tell(now)
	switch {
	case !now.known && now.away != nil:
		r.to.Lack(fmt.Errorf("the Kubernetes API cannot be asked: %w", now.away))
	case !now.known:
	case now.secret == nil:
		return r.missing(ctx)
	default:
		return r.found(ctx, now.secret)
	}
	return r.look
}

// tell says when the API goes away after it has answered once, and that it is back.
func (r *reader) tell(now state) {
	switch away := now.known && now.away != nil; {
	case away && !r.away:
		r.to.Log.Warn("the Secret cannot be watched, what it held serves on", observe.KeyError, now.away)
		r.away = true
	case !away && r.away:
		r.to.Log.Info("the Secret is watched again")
		r.away = false
	}
}

// missing makes the Secret if that is ours to do. One that others made and took away is
// theirs to make again while what it held serves.
func (r *reader) missing(ctx context.Context) time.Duration {
	if !r.Generate {
		r.to.Lack(errors.New(`it does not exist; create it, for example with "kubectl create secret tls", or turn TLS_AUTO_GENERATE on`))
		return r.look
	}
	if r.served != nil && !ours(r.served) {
		r.to.Lack(errors.New("it was deleted; create it again"))
		return r.look
	}
	return r.wrote(r.generate(ctx), "made", "create")
}

func (r *reader) found(ctx context.Context, secret *core_v1.Secret) time.Duration {
	if r.givenEmpty(secret) {
		return r.wrote(r.write(ctx, secret, "certificate made"), "filled", "update")
	}
	if secret != r.served { // or it would clear what was said of a write
		if err := r.to.Serve(pair(secret)); err != nil {
			r.to.Refuse(describe(secret, err))
			return r.look
		}
		r.served = secret
	}
	if r.mustRenew(secret) {
		return r.wrote(r.write(ctx, secret, "certificate renewed"), "renewed", "update")
	}
	r.to.Warn()
	return r.look
}

// wrote takes how a write ended; what was written comes back through the watch.
func (r *reader) wrote(err error, done, verb string) time.Duration {
	if err == nil {
		return r.look
	}
	r.to.Lack(fmt.Errorf("it cannot be %s: %w; allow this router to %s it, or make it yourself and turn TLS_AUTO_GENERATE and TLS_AUTO_RENEW off", done, cause(err), verb))
	return again
}

func pair(secret *core_v1.Secret) tlsutil.Pair {
	return tlsutil.Pair{Cert: secret.Data[core_v1.TLSCertKey], Key: secret.Data[core_v1.TLSPrivateKeyKey]}
}

// describe says which part of a Secret cannot be served.
func describe(secret *core_v1.Secret, err error) error {
	for _, key := range []string{core_v1.TLSCertKey, core_v1.TLSPrivateKeyKey} {
		if len(secret.Data[key]) == 0 {
			return fmt.Errorf("it has no %s; put a certificate chain in PEM into %s and its key into %s", key, core_v1.TLSCertKey, core_v1.TLSPrivateKeyKey)
		}
	}
	return fmt.Errorf("%s and %s: %w", core_v1.TLSCertKey, core_v1.TLSPrivateKeyKey, err)
}
