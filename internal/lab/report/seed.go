package report

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// The proxies that the seed's table compares.
const (
	seedStream = "model:stream"
	seedReload = "model:reload"
)

// Seed writes the seed's table: each step with the truth and what the plain models
// believe right after it. It is an error unless the proxies are exactly model:stream
// and model:reload.
func Seed(w io.Writer, r lab.Result) error {
	stream, reload, err := seedPair(r.Proxies)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("step | actual truth (what SHOULD be routable) | stream-proxy view | reload-proxy view\n")
	s := seedSets{truth: set{}, told: set{}}
	for events, at := range moments(r.Timeline, reload.Belief) {
		for i, e := range events {
			s.apply(e)
			if i == len(events)-1 {
				s.stream, s.reload = lab.At(stream.Belief, at), lab.At(reload.Belief, at)
			}
			s.write(&b, e.Kind)
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func seedPair(proxies []lab.Proxy) (stream, reload lab.Proxy, err error) {
	byName := make(map[string]lab.Proxy)
	var names []string
	for _, p := range proxies {
		byName[p.Name] = p
		names = append(names, p.Name)
	}
	stream, reload = byName[seedStream], byName[seedReload]
	if len(proxies) != 2 || stream.Name == "" || reload.Name == "" {
		return stream, reload, fmt.Errorf("-o seed: its table compares %s with %s, but the proxies are %s: use --proxies %s,%s, or -o table",
			seedStream, seedReload, strings.Join(names, ","), seedStream, seedReload)
	}
	for _, p := range []lab.Proxy{stream, reload} {
		if why := p.Skipped + p.Failed; why != "" {
			return stream, reload, errors.New("-o seed: " + p.Name + ": " + why)
		}
	}
	return stream, reload, nil
}

// seedSets are the columns, and what the proxies were told so far. Between the events of
// one moment they follow the seed's rules, since a belief is known only for the moment
// as a whole.
type seedSets struct {
	truth, told    set
	stream, reload []string
}

func (s *seedSets) apply(e lab.Event) {
	switch e.Kind {
	case lab.Add:
		s.truth[e.Backend], s.told[e.Backend] = true, true
	case lab.Remove:
		delete(s.truth, e.Backend)
		delete(s.told, e.Backend)
	case lab.Lose:
		delete(s.truth, e.Backend)
	case lab.Reload:
		s.reload = s.told.names()
	}
	s.stream = s.told.names()
}

func (s *seedSets) write(b *strings.Builder, kind lab.Kind) {
	truth, reload := seedList(s.truth.names()), seedList(s.reload)
	if kind == lab.Reload {
		fmt.Fprintf(b, "%-6s|%42s|%20s| view -> %s\n", "RELOAD", "", "", reload)
		return
	}
	fmt.Fprintf(b, "%-6s| truth=%-30s| stream=%-8s| reload=%-8s", kind, truth, seedList(s.stream), reload)
	if reload != truth {
		b.WriteString(" <- STALE")
	}
	b.WriteByte('\n')
}

// seedList writes names as the seed does, for example "['a', 'b']".
func seedList(names []string) string {
	if len(names) == 0 {
		return "[]"
	}
	return "['" + strings.Join(names, "', '") + "']"
}

// set is a set of backends by name.
type set map[string]bool

func (s set) names() []string { return slices.Sorted(maps.Keys(s)) }
