package discovery

import "time"

// Hurry makes the times of a server short, and lets few connect.
func (a *API) Hurry(read time.Duration, connections int) {
	a.limits.header, a.limits.read, a.limits.idle = read, read, time.Minute
	a.limits.connections = connections
}

// Methods are those of every path.
func Methods() map[string][]string {
	out := map[string][]string{}
	for _, r := range routes {
		for _, o := range r.operations {
			out[r.pattern] = append(out[r.pattern], o.method)
		}
	}
	return out
}

// Fields are those of every body that is read, by its schema.
func Fields() map[string][]string {
	return map[string][]string{"LeaseRequest": acquireNames, "RenewRequest": renewNames, "ReportRequest": reportNames}
}

// Answers are the bodies that are written, by their schema.
func Answers() map[string]any {
	return map[string]any{
		"Proxy": proxyAnswer{}, "Proxies": proxiesAnswer{}, "Lease": leaseAnswer{}, "Renewed": renewAnswer{},
		"Refusal": refusalAnswer{}, "NoMatch": noMatchAnswer{},
	}
}

// Parse reads a body as that of one of the schemas, which tests know by their names.
func Parse(schema string, data []byte) error {
	switch schema {
	case "LeaseRequest":
		return parse(data, &acquireForm{})
	case "RenewRequest":
		return parse(data, &renewForm{})
	default:
		return parse(data, &reportForm{})
	}
}
