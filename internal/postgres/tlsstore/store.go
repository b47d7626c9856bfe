package tlsstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

// Options are the same for every source.
type Options struct {
	// Threshold is how long before its end a certificate is renewed if we made it, and
	// warned about if we did not; 0 is 30 days.
	Threshold time.Duration
	Log       *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

const day = 24 * time.Hour

func (o Options) filled() Options {
	if o.Threshold <= 0 {
		o.Threshold = 30 * day
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Store holds the certificate that new handshakes get. Its methods may be called from
// several goroutines.
type Store struct {
	Options
	source Source
	pair   atomic.Pointer[tls.Certificate] // nil until there is one

	asked, direct *tls.Config

	mu     sync.Mutex
	status Status
	warned warning
}

// Source is where a certificate comes from.
type Source interface {
	// Name says it to people, for example "Secret shop/router".
	Name() string
	// Origin is what logs call it.
	Origin() slog.Attr
	// Run tells s what it finds, by Store.Serve, Store.Refuse and Store.Lack, until ctx
	// ends, and has it look at the time now and then, by Store.Warn.
	Run(ctx context.Context, s *Store)
}

// Status is what is known of a Store's certificate.
type Status struct {
	// Facts are those of the certificate that serves.
	Facts tlsutil.Facts
	// Since is when it began to serve.
	Since time.Time
	// Loads counts the certificates that have served, Refusals the pairs that could not.
	Loads, Refusals uint64
	// Refused is why the source's last state is not what serves; nil if it is. It holds
	// no key material.
	Refused error
	// Lacking is why the source says nothing, or has nothing; nil if it does.
	Lacking error
}

// New returns a Store that has no certificate until Run finds one at its source: until
// then every handshake fails.
func New(from Source, o Options) *Store {
	s := &Store{Options: o.filled(), source: from}
	s.Log = s.Log.With(from.Origin())
	s.asked, s.direct = s.config(), s.config()
	s.direct.GetConfigForClient = refuseWithoutALPN
	return s
}

// newStore returns a Store that serves pair.
func newStore(from Source, o Options, pair tlsutil.Pair) (*Store, error) {
	s := New(from, o)
	return s, s.Serve(pair)
}

// Run keeps the certificate up to date until ctx ends: it watches files, renews what we
// made, and warns of what will soon be over. Without it a Store serves what it began with.
func (s *Store) Run(ctx context.Context) { s.source.Run(ctx, s) }

// Status tells what serves, and what does not.
func (s *Store) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Waits says what handshakes wait for, for example "the certificate in Secret shop/router:
// it does not exist", or "" once there is a certificate.
func (s *Store) Waits() string {
	if s.pair.Load() != nil {
		return ""
	}
	status := s.Status()
	return fmt.Sprintf("the certificate in %s: %v", s.source.Name(), cmp.Or(status.Refused, status.Lacking, errNotRead))
}

var errNotRead = errors.New("it was not read yet")

// Serve lets handshakes that begin from now on have the pair. The same again changes
// nothing. The error is a *tlsutil.PairError if it cannot be served; then what served does.
func (s *Store) Serve(pair tlsutil.Pair) error {
	certificate, facts, err := parse(pair)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Refused, s.status.Lacking = nil, nil
	if serving := s.pair.Load(); serving != nil && slices.EqualFunc(serving.Certificate, certificate.Certificate, bytes.Equal) {
		return nil
	}
	s.pair.Store(&certificate)
	s.status.Facts, s.status.Since = facts, s.Now()
	s.status.Loads++
	s.warned = silent
	s.Log.Info("certificate serves", observe.KeyCertificate, facts.Fingerprint, observe.KeyExpires, facts.NotAfter)
	return nil
}

func parse(pair tlsutil.Pair) (tls.Certificate, tlsutil.Facts, error) {
	if err := tlsutil.CheckPair(pair.Cert, pair.Key); err != nil {
		return tls.Certificate{}, tlsutil.Facts{}, err
	}
	facts, err := tlsutil.Inspect(pair.Cert)
	if err != nil {
		return tls.Certificate{}, tlsutil.Facts{}, err
	}
	certificate, err := pair.TLS()
	return certificate, facts, err
}

// Refuse notes why the source's state does not serve. The same reason again is not news.
func (s *Store) Refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Lacking = nil
	if s.status.Refused != nil && s.status.Refused.Error() == err.Error() {
		return
	}
	s.status.Refused = err
	s.status.Refusals++
	s.Log.Error("certificate refused, "+s.rest(), observe.KeyError, err)
}

// Lack notes why the source says nothing, or has nothing. The same reason again is not news.
func (s *Store) Lack(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.Lacking == nil || s.status.Lacking.Error() != err.Error() {
		s.Log.Warn("no certificate to be had, "+s.rest(), observe.KeyError, err)
	}
	s.status.Lacking = err
}

// rest says what handshakes have while the source has nothing for them.
func (s *Store) rest() string {
	if s.pair.Load() == nil {
		return "and none serves yet"
	}
	return "the previous one serves on"
}
