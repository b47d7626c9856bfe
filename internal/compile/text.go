package compile

import (
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// faulty is the problem of a field with a value that the model cannot have, or nil.
func faulty(field, value, why string) *problem {
	if why == "" {
		return nil
	}
	return problemf(verdict.UnsupportedValue, field, "%q: %s", value, why)
}

// expression checks a regular expression.
func expression(field, value string) *problem {
	return faulty(field, value, model.ExpressionFault(value))
}

// urlPath checks the path of a URL.
func urlPath(field, value string) *problem { return faulty(field, value, model.PathFault(value)) }

// hostname checks a host name in lower case. Gateway API allows no addresses for one.
func hostname(field, name string, wildcard bool) *problem {
	if model.IsAddress(name) {
		return faulty(field, name, "an IP address is no host name: use a name")
	}
	return faulty(field, name, model.HostnameFault(name, wildcard))
}

// hostnames are the host names of a route in lower case.
func hostnames(specs []gateway_v1.Hostname) ([]string, *problem) {
	var out []string
	var why *problem
	for i, spec := range specs {
		name := strings.ToLower(string(spec))
		out, why = append(out, name), first(why, hostname(indexed("spec.hostnames", i), name, true))
	}
	return out, why
}
