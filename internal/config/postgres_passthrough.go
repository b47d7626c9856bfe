package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

func passthroughTable(p *postgresGiven) []*setting {
	return []*setting{{Setting{
		Key: "tlsPassthrough", Value: "ID,...", Offline: true,
		Usage: "static backends, orders or orders.pool, that clients speak TLS with from end to end, by host name; may be repeated",
	}, func(v []string) error { return setNames(&p.passthrough, v) }, false}}
}

// setNames reads names separated by commas.
func setNames(to *[]string, values []string) error {
	*to = nil
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if part = strings.TrimSpace(part); part != "" {
			*to = append(*to, part)
		}
	}
	return nil
}

// passThrough marks the backends that TLS passes through to.
func (c *postgresCheck) passThrough() {
	const key = "tlsPassthrough"
	if len(c.passthrough) > 0 && c.SNISuffix == "" {
		c.fail(key, strings.Join(c.passthrough, ","), "needs SNI_SUFFIX: only a host name leads there; set the domain that clients' host names end in")
	}
	for _, name := range c.passthrough {
		i := slices.IndexFunc(c.Backends, func(b discovery.Backend) bool { return b.Name() == name })
		if i < 0 {
			c.fail(key, name, fmt.Sprintf("is no static backend; name those of STATIC_BACKENDS, such as %s; Services in Kubernetes say so by their label", c.exampleBackend()))
			continue
		}
		c.Backends[i].Passthrough = true
	}
}

func (c *postgresCheck) exampleBackend() string {
	if len(c.Backends) == 0 {
		return "orders"
	}
	return c.Backends[0].Name()
}
