package lease

import (
	"maps"
	"slices"
	"strings"
)

// Selector matches proxies whose attributes have all of its pairs, in a namespace.
type Selector struct {
	// Namespace is empty for any.
	Namespace  string
	Attributes map[string]string
}

// Matches says whether a proxy is one of those.
func (s Selector) Matches(p *Proxy) bool {
	if s.Namespace != "" && s.Namespace != p.Namespace {
		return false
	}
	for key, value := range s.Attributes {
		if got, ok := p.Attributes[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// canonical is the same for selectors that match the same by the same pairs. Keys and
// values have no NUL: they are those of labels.
func (s Selector) canonical() string {
	if len(s.Attributes) == 0 {
		return s.Namespace
	}
	var b strings.Builder
	b.WriteString(s.Namespace)
	for _, key := range slices.Sorted(maps.Keys(s.Attributes)) {
		b.WriteString("\x00" + key + "\x00" + s.Attributes[key])
	}
	return b.String()
}
