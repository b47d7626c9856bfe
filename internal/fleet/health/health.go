// Package health finds out which forward proxies work, by asking a URL through each.
//
// An [Engine] owns what is known of a proxy's health; whoever writes status owns its
// representation. The engine says that something is worth a write only at the first
// verdict, when the verdict flips, and when the latency has changed a lot, and then not
// often: probes that find nothing new cost no write. Every probe is told to the metrics.
package health

import (
	"net/netip"
	"slices"
	"time"
)

// Check is what a probe asks, and what is to be answered.
type Check struct {
	// URL is http or https; with https the proxy is asked for a tunnel, and TLS is spoken
	// inside.
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
	// Key is "namespace/name"; UID and Instance say which of that name it is: with another
	// one, or another address or check, everything begins anew.
	Key, UID, Instance string
	// Scheme is http, https or socks5.
	Scheme string
	Host   string
	Port   int
	// Username and Password may be empty. They are never logged.
	Username, Password string
	// TLS is how a proxy of scheme https is verified.
	TLS TLS
	// Egress is where its connections come from; the zero address is not known.
	Egress netip.Addr
	Check  Check
	// Known is the verdict of whoever probed before, nil without one.
	Known *bool
}

// TLS is how a proxy of scheme https is verified.
type TLS struct {
	// ServerName is empty for the host. CA is PEM; nil for the system's.
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
}

// Snapshot is what is worth a write.
type Snapshot struct {
	Healthy bool
	Result  Result    // of the probe that was last worth one
	At      time.Time // of that probe
}
