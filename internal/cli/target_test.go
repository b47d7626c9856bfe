package cli

import "testing"

func TestParseTarget(t *testing.T) {
	for _, test := range []struct {
		args []string
		want target
		ok   bool
	}{
		{[]string{"httproute", "shop/checkout"}, target{"HTTPRoute", "shop/checkout"}, true},
		{[]string{"HTTPROUTES", "checkout"}, target{"HTTPRoute", "checkout"}, true},
		{[]string{"gw/shop/edge"}, target{"Gateway", "shop/edge"}, true},
		{[]string{"gc/gatehouse"}, target{"GatewayClass", "gatehouse"}, true},
		{[]string{"svc"}, target{"Service", ""}, true},
		{[]string{"Widget", "a/b"}, target{"Widget", "a/b"}, true},
		{[]string{"gc", "shop/gatehouse"}, target{}, false},
		{[]string{"gw", "a/b/c"}, target{}, false},
		{[]string{"gw/"}, target{}, false},
		{[]string{"/gw"}, target{}, false},
		{[]string{"gw", ""}, target{}, false},
		{[]string{"gw//edge"}, target{}, false},
	} {
		got, err := parseTarget(test.args)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("%q is %+v, %v; want %+v", test.args, got, err, test.want)
		}
	}
}
