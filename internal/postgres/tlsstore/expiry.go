package tlsstore

import "github.com/gatehouse-proxy/gatehouse/internal/observe"

// warning is what has been said of a certificate's end.
type warning uint8

const (
	silent warning = iota
	soon
	over
)

// Warn says once that the certificate will soon be over, and once that it is. The first
// comes Options.Threshold before the end.
func (s *Store) Warn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	facts, now := s.status.Facts, s.Now()
	switch {
	case s.pair.Load() == nil:
	case facts.Expired(now) && s.warned < over:
		s.warned = over
		s.Log.Error("certificate has expired: clients that verify it refuse it; replace it",
			observe.KeyExpires, facts.NotAfter)
	case facts.Expires(now, s.Threshold) && s.warned < soon:
		s.warned = soon
		s.Log.Warn("certificate expires soon: replace it",
			observe.KeyExpires, facts.NotAfter)
	}
}
