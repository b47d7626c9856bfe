package tlsstore

import (
	"bytes"
	"context"
	"crypto/tls"
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
	source source
	pair   atomic.Pointer[tls.Certificate]

	asked, direct *tls.Config

	mu     sync.Mutex
	status Status
	warned warning
}

// source is where a certificate comes from.
type source interface {
	// run calls Store.serve or Store.refuse with what it finds, until ctx ends.
	run(ctx context.Context, s *Store)
	// origin is what logs call it.
	origin() slog.Attr
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
}

// newStore returns a Store that serves pair.
func newStore(from source, o Options, pair tlsutil.Pair) (*Store, error) {
	s := &Store{Options: o.filled(), source: from}
	s.Log = s.Log.With(from.origin())
	s.asked, s.direct = s.config(), s.config()
	s.direct.GetConfigForClient = refuseWithoutALPN
	return s, s.serve(pair)
}

// Run keeps the certificate up to date until ctx ends: it watches files, renews what we
// made, and warns of what will soon be over. Without it a Store serves what it began with.
func (s *Store) Run(ctx context.Context) { s.source.run(ctx, s) }

// Status tells what serves, and what does not.
func (s *Store) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// serve lets handshakes that begin from now on have the pair. The same again changes nothing.
func (s *Store) serve(pair tlsutil.Pair) error {
	certificate, facts, err := parse(pair)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Refused = nil
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

// refuse notes why the source's state does not serve. The same reason again is not news.
func (s *Store) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.Refused != nil && s.status.Refused.Error() == err.Error() {
		return
	}
	s.status.Refused = err
	s.status.Refusals++
	s.Log.Error("certificate refused, the previous one serves on", observe.KeyError, err)
}
