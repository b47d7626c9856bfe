package nginx

import (
	"net/netip"
	"slices"
	"testing"
)

func addrs(last ...byte) []netip.Addr {
	var out []netip.Addr
	for _, n := range last {
		out = append(out, netip.AddrFrom4([4]byte{10, 0, 1, n}))
	}
	return out
}

// What all believe is believed by every worker that takes connections, what some
// believe by any that lives.
func TestBelieved(t *testing.T) {
	const leaving = true
	for _, c := range []struct {
		name      string
		family    []worker
		all, some []netip.Addr
	}{
		{"one generation", []worker{{11, 1, !leaving}, {12, 1, !leaving}}, addrs(1, 2), addrs(1, 2)},
		{"both take connections", []worker{{11, 1, !leaving}, {12, 1, !leaving}, {21, 2, !leaving}}, addrs(2), addrs(1, 2, 3)},
		{"some are leaving", []worker{{11, 1, leaving}, {12, 1, !leaving}, {21, 2, !leaving}}, addrs(2), addrs(1, 2, 3)},
		{"the old are leaving", []worker{{11, 1, leaving}, {21, 2, !leaving}}, addrs(2, 3), addrs(1, 2, 3)},
		{"three generations", []worker{{11, 1, leaving}, {21, 2, leaving}, {31, 3, !leaving}}, nil, addrs(1, 2, 3)},
		{"the old are gone", []worker{{21, 2, !leaving}, {22, 2, !leaving}}, addrs(2, 3), addrs(2, 3)},
		{"all are leaving", []worker{{11, 1, leaving}}, addrs(2, 3), addrs(1, 2, 3)},
		{"all have crashed", nil, addrs(2, 3), addrs(2, 3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := nginx{backends: map[int][]netip.Addr{1: addrs(1, 2), 2: addrs(2, 3), 3: nil}}
			got := n.believed(answer{pid: 21, generation: 2}, c.family)
			if !slices.Equal(got.All, c.all) || !slices.Equal(got.Some, c.some) {
				t.Errorf("all %v, some %v; want all %v, some %v", got.All, got.Some, c.all, c.some)
			}
			if want := addrs(2, 3); !slices.Equal(n.backends[2], want) {
				t.Errorf("generation 2 is now %v, want %v", n.backends[2], want)
			}
		})
	}
}

// What nginx 1.22 writes.
func TestReadLine(t *testing.T) {
	for line, want := range map[string]struct {
		request uint64
		tries   int
		ok      bool
	}{
		"17 10.0.1.1:8080\n":                            {17, 1, true},
		"17 10.0.1.1:8080, 10.0.1.2:8080, [::1]:8080\n": {17, 3, true},
		"17 10.0.1.1:8080, backends\n":                  {17, 1, true},
		"17 backends\n":                                 {17, 0, true},
		"17 -\n":                                        {17, 0, true},
		"- -\n":                                         {0, 0, false},
	} {
		if request, tries, ok := readLine(line); request != want.request || tries != want.tries || ok != want.ok {
			t.Errorf("%q: request %d, %d tries, %t; want %+v", line, request, tries, ok, want)
		}
	}
}
