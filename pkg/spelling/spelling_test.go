package spelling_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"", "abc", 3}, {"checkout", "checkuot", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1},
	} {
		if got := spelling.Distance(test.a, test.b); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestDistanceIsSymmetricAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 8, -1)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := spelling.Distance(a, b)
		if d != spelling.Distance(b, a) || d > max(len(a), len(b)) || (d == 0) != (a == b) {
			t.Fatalf("Distance(%q, %q) = %d", a, b, d)
		}
	})
}

func TestClosest(t *testing.T) {
	kinds := []string{"HTTPRoute", "Gateway", "GatewayClass"}
	for name, want := range map[string]string{
		"HTTPRuote": "HTTPRoute", "httproute": "HTTPRoute", "gatewayc": "GatewayClass", "Gate": "Gateway", "Deployment": "",
	} {
		got, ok := spelling.Closest(name, kinds)
		if got != want || ok != (want != "") {
			t.Errorf("Closest(%q) = %q, %v; want %q", name, got, ok, want)
		}
	}
}

func TestNearestAreInOrder(t *testing.T) {
	names := slices.Values([]string{"shop/b", "shop/aa", "other", "shop/a"})

	got := spelling.Nearest("shop/a", names, 2, func(_ string, d int) bool { return d <= 2 })

	if diff := cmp.Diff([]string{"shop/a", "shop/aa"}, got); diff != "" {
		t.Errorf("Nearest (-want +got):\n%s", diff)
	}
}
