package config

import (
	"errors"
	"net/netip"
	"strings"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// FleetPods is the provider kubernetes.
type FleetPods struct {
	// Image is that of Proxies that name none; empty refuses those.
	Image string
	// Requests and Limits are those of each pod's container.
	Requests, Limits core_v1.ResourceList
	// AllowSources are networks whose clients need no credentials, AllowDestinations those
	// that proxies connect to although they would refuse.
	AllowSources, AllowDestinations []netip.Prefix
}

func fleetPodsTable(f *Fleet) []*setting {
	p := &f.Pods
	return []*setting{
		{Setting{
			Key: "podImage", Value: "IMAGE",
			Usage: "container image of Proxies of provider kubernetes that name none; its entrypoint is gatehouse-forward",
		}, func(v []string) error { return setText(&p.Image, v) }, false},
		{Setting{
			Key: "podRequests", Value: "NAME=QUANTITY,...", Default: "cpu=50m,memory=64Mi",
			Usage: "what each pod asks its node for",
		}, func(v []string) error { return setResources(&p.Requests, v) }, false},
		{Setting{
			Key: "podLimits", Value: "NAME=QUANTITY,...", Default: "memory=256Mi",
			Usage: "what each pod gets at most",
		}, func(v []string) error { return setResources(&p.Limits, v) }, false},
		{Setting{
			Key: "podAllowSources", Value: "CIDR,...",
			Usage: "networks whose clients need no credentials at proxies of provider kubernetes; by default none",
		}, func(v []string) error { return setNetworks(&p.AllowSources, v) }, false},
		{Setting{
			Key: "podAllowDestinations", Value: "CIDR,...",
			Usage: "networks that proxies of provider kubernetes connect to although they are private, such as the cluster's own; by default none",
		}, func(v []string) error { return setNetworks(&p.AllowDestinations, v) }, false},
	}
}

func setResources(to *core_v1.ResourceList, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	list := core_v1.ResourceList{}
	for term := range strings.SplitSeq(v, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(term), "=")
		quantity, err := resource.ParseQuantity(text)
		if err != nil || name == "" || quantity.Sign() < 0 {
			return errors.New("must be quantities by name, for example cpu=50m,memory=64Mi")
		}
		list[core_v1.ResourceName(name)] = quantity
	}
	*to = list
	return nil
}
