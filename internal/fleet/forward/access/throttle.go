package access

import (
	"net/netip"
	"sync"
	"time"
)

// A source may fail so often at once, and once more after each interval. A proxy
// remembers so many sources that have failed.
const (
	failures        = 10
	RetryAfter      = 2 * time.Second // until a throttled source may try once more
	rememberSources = 4096
)

// throttle counts failures by source: an IPv4 address, or the 64-bit network that one
// user of IPv6 has.
type throttle struct {
	mu      sync.Mutex
	sources map[netip.Addr]time.Time // when the source has its whole budget again
}

// spent says whether the source has failed too often lately.
func (t *throttle) spent(source netip.Addr, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sources[network(source)].Sub(now) > (failures-1)*RetryAfter
}

func (t *throttle) failed(source netip.Addr, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := network(source)
	if t.sources == nil {
		t.sources = make(map[netip.Addr]time.Time)
	}
	if _, known := t.sources[key]; !known && len(t.sources) >= rememberSources {
		t.forget(now)
	}
	whole := t.sources[key]
	if whole.Before(now) {
		whole = now
	}
	t.sources[key] = whole.Add(RetryAfter)
}

// forget drops who has its whole budget again, and whoever it comes across as long as
// that leaves more than half: it is rarely called.
func (t *throttle) forget(now time.Time) {
	for source, whole := range t.sources {
		if !whole.After(now) {
			delete(t.sources, source)
		}
	}
	for source := range t.sources {
		if len(t.sources) <= rememberSources/2 {
			return
		}
		delete(t.sources, source)
	}
}

func network(a netip.Addr) netip.Addr {
	if a.Is4() {
		return a
	}
	return netip.PrefixFrom(a, 64).Masked().Addr()
}
