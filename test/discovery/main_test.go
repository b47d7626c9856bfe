// Package discovery_test finds servers as the router does in a cluster: the real binary, a
// real API server, and real PostgreSQL servers where EndpointSlices say.
package discovery_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	if err := cluster.EndShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
