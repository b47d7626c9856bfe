package config

import (
	"errors"
	"net/netip"
)

func fleetProcessTable(f *Fleet) []*setting {
	p := &f.Process
	return []*setting{
		{Setting{
			Key: "processNetwork", Value: "MODE", Default: "off",
			Usage: "on gives each proxy of provider process a network namespace and an egress address of its own (root); off lets them listen on loopback addresses",
		}, func(v []string) error { return setOnOff(&p.Network, v) }, false},
		{Setting{
			Key: "processPool", Value: "CIDR", Default: "100.64.0.0/10",
			Usage: "where --process-network takes addresses from: a /22 that this machine has no route into yet, or all of a smaller network that is routed here",
		}, func(v []string) error { return setPool(&p.Pool, v) }, false},
		{Setting{
			Key: "processAllowDestinations", Value: "CIDR,...",
			Usage: "networks that proxies of provider process connect to although they are loopback, private or of this machine; by default none",
		}, func(v []string) error { return setNetworks(&p.AllowDestinations, v) }, false},
		{Setting{
			Key: "forwardBinary", Value: "PATH",
			Usage: "gatehouse-forward for provider process; by default the one beside this program, else this program",
		}, func(v []string) error { return setText(&p.ForwardBinary, v) }, false},
	}
}

// poolBits are those of the smallest pool, which has five addresses for proxies.
const poolBits = 29

func setPool(to *netip.Prefix, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	pool, err := netip.ParsePrefix(v)
	if err != nil || !pool.Addr().Is4() || pool.Bits() > poolBits {
		return errors.New("must be an IPv4 network of at least 8 addresses, for example 100.64.0.0/10")
	}
	*to = pool.Masked()
	return nil
}
