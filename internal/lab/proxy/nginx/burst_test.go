package nginx_test

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/nginx"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

func TestBurst(t *testing.T) { proxytest.Burst(t, nginx.Describe()) }
