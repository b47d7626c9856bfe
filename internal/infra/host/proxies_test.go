package host

import (
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// proxy is what is known of one running process.
type proxy struct {
	Gateway model.GatewayID
	Node    string
	PID     int
	Ready   bool
	Adopted bool
	// Restarts counts the unwanted ends of this Gateway's earlier processes.
	Restarts    int
	AdminSocket string
	Log         string
}

// proxies returns the running processes, by Gateway.
func (s *Supervisor) proxies() []proxy {
	s.mu.Lock()
	keepers := maps.Clone(s.keepers)
	s.mu.Unlock()
	var proxies []proxy
	for _, id := range slices.Sorted(maps.Keys(keepers)) {
		if p, ok := keepers[id].known(); ok {
			proxies = append(proxies, p)
		}
	}
	return proxies
}

func (k *keeper) known() (proxy, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.current
	if p == nil {
		return proxy{}, false
	}
	return proxy{
		Gateway: k.gateway, Node: p.Node, PID: p.PID, Ready: k.ready, Adopted: p.adopted, Restarts: k.restarts,
		AdminSocket: p.AdminSocket, Log: p.dir.gatewayDir().log(),
	}, true
}
