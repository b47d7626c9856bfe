// Package envoy runs a plain Envoy under test, fed in two ways: from a file of
// endpoints that it watches, and by delta ADS from a server of pkg/xdsserve that is a
// process of its own, so that its cost can be counted.
//
// Both run with two workers and Envoy's defaults: no retry, backends in turn,
// connections to them are kept, connecting takes 5 s at most, no host is checked or
// ejected.
package envoy

import (
	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

const (
	// retries is what Envoy does by itself; so "retries=off" changes nothing.
	retries = "none: the client gets 503; Envoy retries only where a route says so"
	get     = `"make envoy", or name one with $` + host.EnvoyVariable
)

// File describes an Envoy that watches a file of endpoints.
func File() proxy.Description {
	return describe("envoy-file", "file-based EDS, each change renamed into a watched directory; backends in turn",
		func(o proxy.Options) feed { return newFileFeed(o.Dir) })
}

// XDS describes an Envoy that gets its endpoints from a server.
func XDS() proxy.Description {
	return describe("envoy-xds", "EDS by delta ADS, from a small server of pkg/xdsserve; backends in turn",
		func(o proxy.Options) feed { return newServerFeed(o) })
}

func describe(name, how string, feed func(proxy.Options) feed) proxy.Description {
	return proxy.Description{
		Name: name, Model: lab.ModelStream, How: how, Retries: retries, Program: "Envoy", Get: get,
		New: func(o proxy.Options) proxy.Proxy { return newEnvoy(o, feed(o)) },
		Find: func() (string, error) {
			path, _, err := host.FindEnvoy("")
			return path, err
		},
		Version: host.Version,
	}
}
