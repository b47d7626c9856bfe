package compile

import "testing"

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		outer, inner string
		want         bool
	}{
		{"", "a.example", true},
		{"", "", true},
		{"", "*.example", true},
		{"a.example", "", false},
		{"a.example", "a.example", true},
		{"a.example", "b.example", false},
		{"*.example", "a.example", true},
		{"*.example", "b.a.example", true},
		{"*.example", "example", false},
		{"*.example", "badexample", false},
		{"*.example", "*.example", true},
		{"*.example", "*.a.example", true},
		{"*.a.example", "*.example", false},
		{"a.example", "*.example", false},
		{"*.a.example", "a.example", false},
	} {
		if got := covers(c.outer, c.inner); got != c.want {
			t.Errorf("covers(%q, %q) = %v", c.outer, c.inner, got)
		}
	}
}

func TestMeet(t *testing.T) {
	for _, c := range []struct {
		name     string
		listener string
		route    []string
		want     []meeting
	}{
		{"both for any", "", nil, []meeting{{"*", ""}}},
		{"a route without host names takes the listener's", "a.example", nil, []meeting{{"a.example", ""}}},
		{"a listener without takes the route's", "", []string{"b.example", "a.example"}, []meeting{{"a.example", "a.example"}, {"b.example", "b.example"}}},
		{"what does not meet is ignored", "*.example", []string{"a.example", "a.test"}, []meeting{{"a.example", "a.example"}}},
		{"a wildcard route narrows to an exact listener", "a.example", []string{"*.example"}, []meeting{{"a.example", "*.example"}}},
		{"the most specific host name of one domain is kept", "a.example", []string{"*.example", "a.example"}, []meeting{{"a.example", "a.example"}}},
		{"wildcards meet at the longer one", "*.example", []string{"*.a.example"}, []meeting{{"*.a.example", "*.a.example"}}},
		{"nothing in common", "a.example", []string{"b.example"}, nil},
		{"a wildcard does not stand for its suffix", "*.a.example", []string{"a.example"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) { equal(t, meet(c.listener, c.route), c.want) })
	}
}

func TestCompareHostsOrdersBySpecificity(t *testing.T) {
	order := []string{"long.a.example", "a.example", "*.long.a.example", "*.example", ""}
	for i, a := range order {
		for j, b := range order {
			if got := compareHosts(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("compareHosts(%q, %q) = %d", a, b, got)
			}
		}
	}
}
