package process

import (
	"fmt"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/chrome"
)

// TestChromium: a browser goes through instances of a fleet that runs. Those of HTTP ask
// for the password of the Secret; that of SOCKS5 knows this machine by its address, and
// nobody else. Each visit is seen at the address of its instance.
func TestChromium(t *testing.T) {
	if !alone(t) {
		return
	}
	it := newTarget(t, somewhere)
	f := newFleet(t, "--process-network", "on", "--process-allow-destinations", somewhere)
	f.write(t, []string{"a", "b"}, "open")
	f.start(t)
	seen := make(map[string]string)
	schemes := make(map[string]int)
	for name, one := range f.serving(t, it, 3) {
		schemes[one.Scheme]++
		t.Run(one.Scheme+"/"+name, func(t *testing.T) {
			b := chrome.Through(t, fmt.Sprintf("%s://%s:3128", one.Scheme, one.Address), "crawler", "hunter2")
			if err := b.Open(it.URL); err != nil {
				t.Fatal(err)
			}
			source, err := chrome.Evaluate[string](b, `document.body.textContent`)
			if err != nil || source != one.Address {
				t.Errorf("seen as %q, %v, want %s", source, err, one.Address)
			}
			if asked := b.Challenges() > 0; asked != (one.Scheme == "http") {
				t.Errorf("challenged %d times", b.Challenges())
			}
			seen[source] = name
		})
		one.foreign(t, it)
	}
	if len(seen) != 3 || schemes["http"] != 2 || schemes["socks5"] != 1 {
		t.Errorf("%v were seen as %v", schemes, seen)
	}
	f.write(t, nil)
	f.gone(t)
}

// foreign asserts that a client with an address that is not of the fleet's network gets
// through with the password, and not at all where none is asked for.
func (i instance) foreign(t *testing.T, it *target) {
	t.Helper()
	want, requests := "200", int64(1)
	if i.Scheme == "socks5" {
		want, requests = "000", 0
	}
	before := it.asked.Load()
	source, status := it.curl(t, i.proxy(i.Scheme, "hunter2"), "--interface", somewhere)
	if asked := it.asked.Load() - before; status != want || asked != requests {
		t.Errorf("a client at %s gets %q as %q from a proxy of %s, want %s", somewhere, status, source, i.Scheme, want)
	}
}
