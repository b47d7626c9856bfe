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
			Usage: "where --process-network takes addresses from: the /22 that this fleet chooses is one that this machine has no route into",
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

// fleetBits are those of the prefix that a fleet takes of the pool.
const fleetBits = 22

func setPool(to *netip.Prefix, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	pool, err := netip.ParsePrefix(v)
	if err != nil || !pool.Addr().Is4() || pool.Bits() > fleetBits {
		return errors.New("must be an IPv4 network of at least 1,024 addresses, for example 100.64.0.0/10")
	}
	*to = pool.Masked()
	return nil
}
