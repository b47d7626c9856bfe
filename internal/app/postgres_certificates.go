package app

import (
	"context"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/kubeapi"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore/secret"
)

// certificates returns what clients see; nil without TLS.
func certificates(c config.Postgres, io IO) (*tlsstore.Store, error) {
	options := tlsstore.Options{Threshold: c.TLS.RenewalThreshold, Log: io.Log}
	switch {
	case !c.TLS.Enabled:
		return nil, nil //nolint:nilnil // no store is what no TLS is
	case c.TLS.Mode == config.TLSFile:
		return tlsstore.Files(c.TLS.CertFile, c.TLS.KeyFile, options)
	case c.TLS.Mode == config.TLSSecret:
		source, err := secretSource(c)
		if err != nil {
			return nil, err
		}
		return tlsstore.New(source, options), nil
	}
	return tlsstore.Memory(options)
}

func secretSource(c config.Postgres) (*secret.Source, error) {
	k := c.Kubernetes
	connection, err := kubeapi.Connection{Kubeconfig: k.Kubeconfig, Context: k.Context}.Config()
	if err != nil {
		return nil, err
	}
	return secret.New(connection, secret.Options{
		Namespace: k.Namespace, Object: c.TLS.SecretName, Names: ownNames(c),
		Generate: c.TLS.AutoGenerate, Renew: c.TLS.AutoRenew,
	})
}

// ownNames are those by which clients may know routers that share a certificate: from
// their own machine, by any Service in front of them, and by the host names of deployments.
func ownNames(c config.Postgres) []string {
	services := "*." + c.Kubernetes.Namespace + ".svc"
	names := []string{"localhost", "127.0.0.1", "::1", services, services + "." + c.Kubernetes.ClusterDomain}
	if c.SNISuffix != "" {
		names = append(names, "*."+c.SNISuffix, "*.pool."+c.SNISuffix)
	}
	return names
}

// certificateWaits are what readiness waits for before there is a certificate.
func certificateWaits(store *tlsstore.Store) []func() string {
	if store == nil {
		return nil
	}
	return []func() string{store.Waits}
}

// keep keeps certificates up to date until ctx ends.
func keep(ctx context.Context, store *tlsstore.Store) {
	if store != nil {
		store.Run(ctx)
	}
}
