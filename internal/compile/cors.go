package compile

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// corsFeatures are the features of Gateway API that this file compiles.
var corsFeatures = featureNames{
	features.SupportHTTPRouteCORS,
}

// defaultMaxAge is how long clients keep the answer to a preflight, in seconds.
const defaultMaxAge = 5

// anything allows every origin, method or header.
const anything = "*"

// origin is a scheme and a host, which may have wildcards, with an optional port.
var origin = regexp.MustCompile(`^([a-z][a-z0-9+.-]*)://([a-z0-9*._-]+)(?::([0-9]{1,5}))?$`)

// readCORS reads a CORS filter.
func readCORS(field string, spec gateway_v1.HTTPCORSFilter) (*model.CORS, *problem) {
	out := &model.CORS{
		Credentials: orElse(spec.AllowCredentials, false),
		MaxAge:      time.Duration(cmp.Or(max(0, spec.MaxAge), defaultMaxAge)) * time.Second,
	}
	var why *problem
	for i, text := range spec.AllowOrigins {
		normal, bad := readOrigin(indexed(field+".allowOrigins", i), string(text))
		out.Origins, why = append(out.Origins, normal), first(why, bad)
	}
	for _, method := range spec.AllowMethods {
		out.Methods = append(out.Methods, string(method))
	}
	out.Headers, out.Expose = headerNames(spec.AllowHeaders), headerNames(spec.ExposeHeaders)
	why = first(why,
		alone(field+".allowOrigins", out.Origins), tokens(field+".allowMethods", out.Methods),
		tokens(field+".allowHeaders", out.Headers), tokens(field+".exposeHeaders", out.Expose))
	return out, why
}

// readOrigin brings an origin into the form that browsers send: lower case, and
// without the well-known port of its scheme.
func readOrigin(field, text string) (string, *problem) {
	text = strings.ToLower(text)
	if text == anything {
		return text, nil
	}
	parts := origin.FindStringSubmatch(text)
	if parts == nil {
		return "", problemf(verdict.UnsupportedValue, field, "%q: must be an origin such as https://shop.example or https://*.example:8443, or *", text)
	}
	scheme, host, port := parts[1], parts[2], parts[3]
	if port == "" {
		return text, nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return "", problemf(verdict.UnsupportedValue, field, "%q: the port must be between 1 and 65535", text)
	}
	if uint16(number) == wellKnownPorts[scheme] {
		return scheme + "://" + host, nil
	}
	return scheme + "://" + host + ":" + strconv.FormatUint(number, 10), nil
}

func headerNames(names []gateway_v1.HTTPHeaderName) []string {
	var out []string
	for _, name := range names {
		out = append(out, strings.ToLower(string(name)))
	}
	return inOrderOnce(out)
}

// alone refuses "*" beside other values.
func alone(field string, values []string) *problem {
	if len(values) > 1 && slices.Contains(values, anything) {
		return problemf(verdict.UnsupportedValue, field, `"*" must stand alone`)
	}
	return nil
}

// tokens refuses what is neither the name of a method or header nor "*" alone.
func tokens(field string, values []string) *problem {
	for i, value := range values {
		if why := faulty(indexed(field, i), value, model.TokenFault(value)); why != nil {
			return why
		}
	}
	return alone(field, values)
}
