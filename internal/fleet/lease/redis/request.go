package redis

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// micros is a span as scripts have it.
func micros(d time.Duration) string { return fmt.Sprint(d.Microseconds()) }

// time is the first argument of each script: nothing for the server's clock.
func (s *Store) time() any {
	if s.Now == nil {
		return ""
	}
	return s.Now().UnixMicro()
}

// selector is the same text for selectors that match the same by the same pairs.
func selector(sel lease.Selector) string { return sel.Namespace + "\x00" + attributes(sel.Attributes) }

func attributes(of map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(of)) {
		b.WriteString(key + "\x00" + of[key] + "\x00")
	}
	return b.String()
}

// member is a proxy in the indexes: its text is in the order of leases.
func member(p lease.Proxy) string { return p.Namespace + "\x00" + p.Name + "\x00" + p.UID }

func memberUID(m string) string { return m[strings.LastIndexByte(m, 0)+1:] }

// splits says whether a NUL would make one part of a member or selector two.
func splits(of map[string]string, parts ...string) bool {
	for key, value := range of {
		parts = append(parts, key, value)
	}
	return slices.ContainsFunc(parts, func(s string) bool { return strings.IndexByte(s, 0) >= 0 })
}

// digest is the same for requests that ask for the same.
func digest(r lease.Request) string {
	if r.Key == "" {
		return ""
	}
	all := fmt.Sprintf("%q %q %q %d %q", r.Body, r.Target, r.Session, r.TTL, selector(r.Selector))
	sum := sha256.Sum256([]byte(all))
	return string(sum[:16])
}

// docs has proxies by their text, which each lease comes with.
type docs struct {
	mu     sync.Mutex
	byText map[string]lease.Proxy
}

// maxDocs is how many texts are kept before all are dropped.
const maxDocs = 1 << 15

// of returns a proxy, whose attributes are not to be changed.
func (d *docs) of(text string) (p lease.Proxy, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p, ok := d.byText[text]; ok {
		return p, nil
	}
	if err = json.Unmarshal([]byte(text), &p); err != nil {
		return p, err
	}
	if d.byText == nil || len(d.byText) >= maxDocs {
		d.byText = map[string]lease.Proxy{}
	}
	d.byText[text] = p
	return p, nil
}

// touches remembers when this process told the server last that a selector is in use.
type touches struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due says whether it is to be told again, and has it told.
func (t *touches) due(selector string, now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.last[selector]) < time.Second {
		return ""
	}
	if t.last == nil || len(t.last) >= 4*maxPools {
		t.last = map[string]time.Time{}
	}
	t.last[selector] = now
	return "1"
}
