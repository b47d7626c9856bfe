package tlsstore

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

const (
	// lifetime is how long a certificate of ours is valid, unless the threshold is so
	// long that it must be more.
	lifetime = 365 * day
	// backdate is for clients whose clocks are slow.
	backdate = time.Hour
	// look is how often the time is looked at. A timer for months would not see that
	// the machine slept or that its clock was set.
	look = time.Hour
)

// memory makes self-signed certificates.
type memory struct{ names []string }

// Memory returns a Store with a self-signed certificate (ECDSA P-256) for localhost,
// 127.0.0.1, ::1 and the host's name. Run makes a new one Options.Threshold before its
// end, a year later. The error says that none could be made.
func Memory(o Options) (*Store, error) {
	m := memory{names: []string{"localhost", "127.0.0.1", "::1"}}
	if host, err := os.Hostname(); err == nil && ascii(host) && host != m.names[0] {
		m.names = append(m.names, host)
	}
	o = o.filled()
	pair, err := m.make(o)
	if err != nil {
		return nil, err
	}
	return newStore(m, o, pair)
}

// ascii tells whether a certificate can hold the name.
func ascii(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return name != ""
}

func (m memory) make(o Options) (tlsutil.Pair, error) {
	pair, err := SelfSigned(o, m.names)
	if err != nil {
		return tlsutil.Pair{}, fmt.Errorf("TLS certificate in memory: %w", err)
	}
	return pair, nil
}

// SelfSigned makes a certificate (ECDSA P-256) for DNS names and IP addresses, at least
// one, that is valid from an hour ago for a year, or for twice Options.Threshold if that
// is longer.
func SelfSigned(o Options, names []string) (tlsutil.Pair, error) {
	o = o.filled()
	now := o.Now()
	return tlsutil.SelfSigned(tlsutil.Validity{NotBefore: now.Add(-backdate), NotAfter: now.Add(max(lifetime, 2*o.Threshold))}, names...)
}

func (m memory) renew(s *Store) {
	pair, err := m.make(s.Options)
	if err == nil {
		err = s.Serve(pair)
	}
	if err != nil {
		s.Refuse(err)
	}
}

func (m memory) Name() string { return "memory" }

func (m memory) Origin() slog.Attr { return slog.String(observe.KeyFrom, "memory") }

func (m memory) Run(ctx context.Context, s *Store) {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		if s.Status().Facts.Expires(s.Now(), s.Threshold) {
			m.renew(s)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}
