package app

import (
	"context"
	"errors"

	"github.com/gatehouse-proxy/gatehouse/pkg/runner"
)

// clusterShell takes Proxies from an API server.
func (f *fleet) clusterShell() []runner.Component {
	return []runner.Component{{Name: "cluster", Start: func(context.Context) error {
		return errors.New("is not available yet; name a directory with --config")
	}}}
}
