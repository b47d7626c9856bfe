// Package gatehouse runs "gatehouse run" under test, as its users do: with a directory
// of Gateway API objects, in which the file of the EndpointSlice is replaced at each
// change. A change goes through the whole pipeline, and what is believed is asked of the
// Envoy that Gatehouse runs, never of Gatehouse.
//
// It runs without the Envoy that tries changes first (--prover off), with two workers,
// and with Gatehouse's defaults: of two backends the one with fewer requests, retries,
// connecting takes 5 s at most. So a backend that hangs gets fewer requests than from a
// plain Envoy.
package gatehouse

import (
	"context"

	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

// Describe describes Gatehouse with the Envoy that it finds.
func Describe() proxy.Description {
	return proxy.Description{
		Name: "gatehouse", Model: lab.ModelStream,
		How:     "EndpointSlices in a watched directory, through the whole pipeline to its Envoy; the less busy of two backends",
		Retries: "up to 2, each at another backend, when the connection fails or a backend refuses the stream",
		Program: "Gatehouse", Get: `"make envoy", or name one with $` + host.EnvoyVariable,
		New: func(o proxy.Options) proxy.Proxy { return newGatehouse(o) },
		Find: func() (string, error) {
			path, _, err := host.FindEnvoy("")
			return path, err
		},
		Version: describeVersion,
	}
}

// describeVersion names both programs: the path is Envoy's.
func describeVersion(ctx context.Context, path string) (string, error) {
	envoy, err := host.Version(ctx, path)
	if err != nil {
		return "", err
	}
	return version.Number + " with Envoy " + envoy, nil
}
