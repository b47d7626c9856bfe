// Package health finds out which forward proxies work, by asking a URL through each.
//
// An [Engine] owns what is known of a proxy's health; whoever writes status owns its
// representation. The engine says that something is worth a write only at the first
// verdict, when the verdict flips, when the address that targets see is known, and when
// the latency has changed a lot, and then not often: probes that find nothing new cost no
// write. Every probe is told to the metrics.
//
// Probes never block whoever tells an engine of a proxy, and engines list nothing: what
// they know they are told. When many fail at once no verdict turns bad for a while.
package health

import (
	"net/netip"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// Check is what a probe asks, and what is to be answered.
type Check struct {
	// URL is http or https; with https the proxy is asked for a tunnel, and TLS is spoken
	// inside. Without one a probe connects to the proxy, shakes hands where TLS is spoken
	// to it, and greets and authenticates with SOCKS.
	URL string
	// Interval is between the beginnings of probes, at least 1 s; Timeout bounds one, from
	// the dial to the last byte.
	Interval, Timeout time.Duration
	// SuccessThreshold and FailureThreshold are how many results in a row flip the
	// verdict, 1 to 20.
	SuccessThreshold, FailureThreshold int
	// ExpectedStatus are the codes that are well; none are 200 to 299.
	ExpectedStatus []int
	// VerifyEgress compares the address in the answer's body with Proxy.Egress.
	VerifyEgress bool
}

func (c Check) equal(d Check) bool {
	return slices.Equal(c.ExpectedStatus, d.ExpectedStatus) && c.URL == d.URL && c.Interval == d.Interval && c.Timeout == d.Timeout &&
		c.SuccessThreshold == d.SuccessThreshold && c.FailureThreshold == d.FailureThreshold && c.VerifyEgress == d.VerifyEgress
}

// Proxy is what is probed.
type Proxy struct {
	// Key is "namespace/name"; UID and Instance, which has the address too, say which of
	// that name it is: with others, everything begins anew.
	Key, UID, Instance string
	// Scheme is http, https or socks5.
	Scheme string
	Host   string
	Port   int
	// Login makes credentials that are good until a time, nil where none are asked for.
	// They are never logged.
	Login func(until time.Time) offer.Credentials
	// TLS is how a proxy of scheme https is verified.
	TLS TLS
	// Egress is where its connections must come from, where that is verified; the zero
	// address takes what the first good probe finds.
	Egress netip.Addr
	Check  Check
	// Known is what whoever probed before has written, nil without a verdict.
	Known *Known
}

// Known is what a status says of earlier probes.
type Known struct {
	Healthy bool
	Latency time.Duration
	At      time.Time  // of that probe
	Egress  netip.Addr // that was verified; the zero address if none was
}

// TLS is how a proxy of scheme https is verified.
type TLS struct {
	// ServerName is empty for the host. CA is PEM; nil for the system's, and empty for
	// one that is missing.
	ServerName         string
	CA                 []byte
	InsecureSkipVerify bool
}

// Class says what became of a probe.
type Class string

// Classes of results.
const (
	OK            Class = "ok"
	Dial          Class = "dial"           // the proxy was not reached
	AuthFailed    Class = "auth_failed"    // it refused the credentials
	ConnectStatus Class = "connect_status" // it refused the tunnel
	TLSFailed     Class = "tls"            // its certificate, or the target's, is not right
	Timeout       Class = "timeout"        // not over in time
	BadStatus     Class = "bad_status"     // another status than expected
	Broken        Class = "broken"         // what it answered is no answer
	WrongEgress   Class = "wrong_egress"   // the target saw another address
)

// Result is what one probe found.
type Result struct {
	Class Class
	// Message is one line, empty when OK.
	Message string
	Latency time.Duration
	// Egress is the address that the target saw, if it was asked and has told.
	Egress netip.Addr
}
