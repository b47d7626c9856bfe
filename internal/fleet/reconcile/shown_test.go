package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
)

// pass NAME reconciles once and shows all of it.
func (s *story) pass(words []string) {
	key := s.key(words[0])
	s.w.calls = nil
	result, err := s.r.Reconcile(s.t.Context(), key)
	for _, call := range s.w.calls {
		if call != "proxy" {
			fmt.Fprintf(&s.out, "  %s\n", call)
		}
	}
	s.show(words[0])
	switch {
	case err != nil:
		fmt.Fprintf(&s.out, "  error: %v\n", err)
	case result.After > 0:
		fmt.Fprintf(&s.out, "  after %s\n", result.After)
	default:
		fmt.Fprintln(&s.out, "  rests")
	}
}

// show shows what changed of a Proxy.
func (s *story) show(name string) {
	key := s.key(name)
	text := "gone\n"
	if p := s.w.proxies[key]; p != nil {
		text = describe(p)
	}
	if text != s.shown[key] {
		for line := range strings.Lines(text) {
			fmt.Fprintf(&s.out, "  = %s", line)
		}
	}
	s.shown[key] = text
}

// describe is the status of p, and what metadata says of it, as lines.
func describe(p *proxy) string {
	var b strings.Builder
	st := p.Status
	fmt.Fprintf(&b, "%s", st.Phase)
	for _, f := range []struct{ name, value string }{
		{"id", st.ProviderID}, {"ip", st.IP}, {"hash", fmt.Sprintf("%.6s", p.Annotations["egress.gatehouse.dev/spec-hash"])},
	} {
		if f.value != "" {
			fmt.Fprintf(&b, " %s %s", f.name, f.value)
		}
	}
	if st.Attempts > 0 {
		fmt.Fprintf(&b, " attempts %d", st.Attempts)
	}
	if !lifecycle.Owned(p) {
		b.WriteString(" (no finalizer)")
	}
	b.WriteByte('\n')
	for _, c := range st.Conditions {
		fmt.Fprintf(&b, "  %s %s/%s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	if e := st.LastError; e != nil {
		fmt.Fprintf(&b, "  last error %s: %s\n", e.Class, e.Message)
	}
	return b.String()
}

// run D reconciles all Proxies as their passes ask, for so long, each instance taking
// its turn every second, and shows how often each call was made and where that led.
func (s *story) run(words []string) {
	end := s.w.now.Add(length(s.t, words[0]).Duration)
	due := map[string]time.Time{}
	counts := map[string]int{}
	for ; s.w.now.Before(end); s.w.now = s.w.now.Add(time.Second) {
		for _, key := range slices.SortedFunc(maps.Keys(s.w.proxies), func(a, b key) int { return strings.Compare(a.Name, b.Name) }) {
			if s.w.now.Before(due[key.Name]) {
				continue
			}
			s.w.calls = nil
			result, err := s.r.Reconcile(s.t.Context(), key)
			for _, call := range s.w.calls {
				counts[strings.Fields(call)[0]+" "+lastWord(call)]++
			}
			due[key.Name] = s.w.now.Add(again(result, err))
		}
		s.w.turn()
	}
	delete(counts, "proxy proxy")
	for _, call := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&s.out, "  %d × %s\n", counts[call], call)
	}
	for _, name := range slices.Sorted(maps.Keys(due)) {
		s.show(name)
	}
}

// again is when a shell would: soon after an error, never without a reason.
func again(result Result, err error) time.Duration {
	switch {
	case err != nil:
		return 30 * time.Second
	case result.After > 0:
		return result.After
	}
	return 24 * time.Hour
}

func lastWord(call string) string {
	words := strings.Fields(call)
	return words[len(words)-1]
}
