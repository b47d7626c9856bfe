package kill_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// places returns where a process that makes these calls can be ended: after how many.
type places func(calls []string) []int

// everyPlace is all of them.
func everyPlace(calls []string) (cuts []int) {
	for cut := range len(calls) + 1 {
		cuts = append(cuts, cut)
	}
	return cuts
}

// changes are the calls that the world can tell apart.
var changes = []string{"apply", "forget", "create", "delete", "patch metadata", "patch status"}

// everyChange is all places that the world can tell apart: between calls that only read,
// it is as after the last one that wrote.
func everyChange(calls []string) []int {
	cuts := []int{0}
	for i, call := range calls {
		if slices.Contains(changes, call) {
			cuts = append(cuts, i+1)
		}
	}
	return cuts
}

// exhaust ends the operator at all places of every path, and lets another one go on.
func exhaust(t *testing.T, where places, open func(t *testing.T) *stage) {
	for _, p := range paths {
		if lack := p.lacks(open(t)); lack != "" {
			t.Logf("not walked: %s, for there is no %s here", p.name, lack)
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			calls := p.whole(p.open(t, open(t)))
			cuts := where(calls)
			if len(cuts) < 2 {
				t.Fatalf("only %d cut points among %q", len(cuts), calls)
			}
			var worst time.Duration
			for _, cut := range cuts {
				worst = max(worst, p.cutAt(t, open, calls, cut))
			}
			t.Logf("%d cut points in %d calls; all in order again after %s at most: %q", len(cuts), len(calls), worst, calls)
		})
	}
}

// lacks names what the path needs and the stage has not.
func (p path) lacks(s *stage) string {
	if len(s.zones()) < p.zones {
		return "second zone"
	}
	for _, f := range p.troubles {
		if !slices.Contains(s.troubles(), f) {
			return string(f)
		}
	}
	return ""
}

// start begins an operator on the path that may make so many calls.
func (p path) start(sc *scene, calls int) *operator {
	sc.Helper()
	o := start(sc.T, sc.stage, calls)
	o.still = p.sweeps
	sc.watch(o)
	return o
}

// whole walks the path to its end, and returns the calls on it.
func (p path) whole(sc *scene) []string {
	sc.Helper()
	o := p.start(sc, -1)
	_, done := o.run(sc.T, func() bool { return p.so(sc) }, bound)
	if !done {
		sc.Fatalf("there is no end to the path: %s; calls %q", sc.state(), o.calls)
	}
	for _, call := range p.makes {
		if !slices.Contains(o.calls, call) {
			sc.Errorf("the path lacks %q: %q", call, o.calls)
		}
	}
	calls := slices.Clone(o.calls)
	p.end(sc)
	return calls
}

// cutAt ends an operator after so many calls. It returns how long its successor took.
func (p path) cutAt(t *testing.T, open func(t *testing.T) *stage, calls []string, cut int) (took time.Duration) {
	t.Helper()
	where := "before the first call"
	if cut > 0 {
		where = fmt.Sprintf("after call %d, %s", cut, calls[cut-1])
	}
	t.Run(where, func(t *testing.T) {
		sc := p.open(t, open(t))
		o := p.start(sc, cut)
		if o.run(t, func() bool { return p.so(sc) }, bound); !o.fell && cut < len(calls) {
			t.Fatalf("it was not ended: %q", o.calls)
		}
		next := p.start(sc, -1)
		var done bool
		if took, done = next.run(t, func() bool { return p.so(sc) }, bound); !done {
			t.Fatalf("not in order after %s: %s; calls %q, then %q", took, sc.state(), o.calls, next.calls)
		}
		p.end(sc)
	})
	return took
}

// end holds what is there when the path is at its end to the laws.
func (p path) end(sc *scene) {
	sc.Helper()
	sc.lawOfFinalizers()
	if p.then != nil {
		p.then(sc)
		sc.until(p.finally)
	}
	sc.lawOfOne("the end")
	sc.lawOfOwners()
	sc.lawOfOthers()
	sc.lawOfFinalizers()
}
