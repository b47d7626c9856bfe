// Package access decides who may use a forward proxy: by user name and password, by
// the credentials of a lease, or by the address that a client comes from.
//
// Credentials are read once, from files; wrong ones are throttled by source. Nothing
// here blocks but [Load], and nothing tells a password.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/credential"
)

// Errors of [Policy.Decide].
var (
	ErrNeeded    = errors.New("user name and password are needed")
	ErrWrong     = errors.New("wrong user name or password")
	ErrExpired   = errors.New("the lease has ended")
	ErrSource    = errors.New("this source address may not use the proxy")
	ErrThrottled = errors.New("too many wrong passwords from this source address; try again later")
)

// Grant is what a client may do: everything, until an end, if it has one.
type Grant struct {
	// Lease is empty for who has the proxy's own password, or needs none.
	Lease string
	// Until is zero without an end.
	Until time.Time
	// For is what the one who decided wants those to know who reach targets.
	For any
}

// Given is what a client showed.
type Given struct{ Username, Password string }

// Policy decides. Its exported fields are set before its first use.
type Policy struct {
	Credentials Credentials
	// Sources need no credentials.
	Sources []netip.Prefix
	// Open lets everybody in where there are no Credentials: a proxy on loopback.
	Open bool

	throttle throttle
}

// Decide returns a grant or one of the errors above. Given is nil for a client that
// showed nothing. What a client shows is verified even where it needs to show nothing,
// so that a wrong password is noticed.
func (p *Policy) Decide(source netip.Addr, given *Given, now time.Time) (Grant, error) {
	source = source.Unmap().WithZone("")
	needless := p.Open && !p.Credentials.Any() || slices.ContainsFunc(p.Sources, func(s netip.Prefix) bool { return s.Contains(source) })
	switch {
	case !p.Credentials.Any():
		if needless {
			return Grant{}, nil
		}
		return Grant{}, ErrSource
	case given == nil && needless:
		return Grant{}, nil
	case given == nil:
		return Grant{}, ErrNeeded
	case p.throttle.spent(source, now):
		return Grant{}, ErrThrottled
	}
	grant, err := p.Credentials.verify(*given, now)
	if errors.Is(err, ErrWrong) {
		p.throttle.failed(source, now)
	}
	return grant, err
}

// Asks says whether there are credentials.
func (p *Policy) Asks() bool { return p.Credentials.Any() }

// verify takes the same time for every wrong password of one length.
func (c Credentials) verify(g Given, now time.Time) (Grant, error) {
	if c.Username != "" && equal(g.Username, c.Username)&equal(g.Password, c.Password) == 1 {
		return Grant{}, nil
	}
	if c.LeaseKey == nil {
		return Grant{}, ErrWrong
	}
	lease, until, err := credential.Verify(c.LeaseKey, c.Instance, g.Username, g.Password, now)
	switch {
	case errors.Is(err, credential.ErrExpired):
		return Grant{}, ErrExpired
	case err != nil:
		return Grant{}, ErrWrong
	}
	return Grant{Lease: lease, Until: until}, nil
}

// equal compares sums, so that not even the length is told by the time it takes.
func equal(a, b string) int {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:])
}
