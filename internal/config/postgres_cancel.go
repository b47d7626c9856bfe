package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel/peer"
)

// CancelPeers are the replicas that share cancels; the zero value is none.
type CancelPeers struct {
	// Addresses are HOST:PORT; a name stands for all addresses that DNS gives it.
	Addresses []string
	// KeyFile has the key that replicas share; empty when there are none.
	KeyFile string
	// Port is where other replicas ask; 0 is any free port.
	Port int
}

func cancelTable(p *postgresGiven) []*setting {
	return []*setting{
		{Setting{
			Key: "cancelOnDisconnect", Default: "false",
			Usage: "cancel what a server still does for a client that has vanished",
		}, func(v []string) error { return setSwitch(&p.CancelOnDisconnect, v) }, false},
		{Setting{
			Key: "cancelPeers", Value: "HOST:PORT,...",
			Usage: "other replicas, asked about cancels whose session is not here: a headless Service's name, or a list; may be repeated, and may include this replica",
		}, func(v []string) error { return setPeers(&p.CancelPeers.Addresses, v) }, false},
		{Setting{
			Key: "cancelPeerKeyFile", Value: "FILE",
			Usage: "32 random bytes that the replicas share, or 64 while the key is changed: the new one first; followed when it changes",
		}, func(v []string) error { return setText(&p.CancelPeers.KeyFile, v) }, true},
		{Setting{
			Key: "cancelPeerPort", Value: "PORT", Default: "7432",
			Usage: "port at which other replicas ask; 0 takes any free port",
		}, func(v []string) error { return setPort(&p.CancelPeers.Port, v) }, false},
	}
}

// setPeers reads HOST:PORT,…
func setPeers(to *[]string, values []string) error {
	if len(values) == 0 {
		return nil
	}
	var errs Errors
	for entry := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if err := checkPeer(entry); err != nil {
			errs = append(errs, fmt.Errorf("entry %q %w", entry, err))
			continue
		}
		*to = append(*to, entry)
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

func checkPeer(entry string) error {
	host, port, err := net.SplitHostPort(entry)
	if err != nil {
		return errors.New("must be HOST:PORT, for example gatehouse-peers.db.svc:7432 or [::1]:7432")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("has port %q; it must be a number from 1 to 65535", port)
	}
	ip, err := netip.ParseAddr(host)
	name := len(validation.IsDNS1123Subdomain(strings.ToLower(strings.TrimSuffix(host, ".")))) == 0
	if err != nil && !name || err == nil && ip.IsUnspecified() {
		return fmt.Errorf("has host %q; it must be a DNS name or the IP address of a replica", host)
	}
	return nil
}

// cancelPeers checks what belongs together. Without a key there are no peers.
func (c *postgresCheck) cancelPeers() {
	p := &c.CancelPeers
	switch {
	case p.KeyFile == "" && len(p.Addresses) > 0:
		c.fail("cancelPeerKeyFile", "", "is missing: replicas believe each other by a key that they share; name a file of 32 random bytes, as of \"openssl rand 32\"")
	case p.KeyFile == "":
		if c.has("cancelPeerPort") {
			c.fail("cancelPeerPort", fmt.Sprint(p.Port), "has no effect without CANCEL_PEERS and CANCEL_PEER_KEY_FILE; name these, or leave it out")
		}
		return
	case len(p.Addresses) == 0:
		c.fail("cancelPeers", "", "is missing: CANCEL_PEER_KEY_FILE is given; name the replicas, for example gatehouse-peers.db.svc:7432")
	}
	if p.Port != 0 && (p.Port == c.Port || p.Port == c.HealthPort) {
		c.fail("cancelPeerPort", fmt.Sprint(p.Port), "is also the port for clients or for health; give each its own")
	}
	if c.src.Watch && p.KeyFile != "" {
		if _, err := peer.ReadKeys(p.KeyFile); err != nil {
			c.fail("cancelPeerKeyFile", p.KeyFile, err.Error())
		}
	}
}

// has tells whether a setting was given.
func (c *postgresCheck) has(key string) bool {
	for _, g := range c.given {
		if g.Key == key {
			return true
		}
	}
	return false
}
