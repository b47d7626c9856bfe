package providertest_test

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
)

func TestMemory(t *testing.T) {
	providertest.Run(t, providertest.Subject{New: func(*testing.T) providertest.World { return new(providertest.Memory) }})
}
