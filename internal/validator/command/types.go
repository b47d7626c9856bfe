package command

import (
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// types are the resource types in the order in which they are made.
var types = []xdsserve.Type{
	xdsserve.Secret, xdsserve.Cluster, xdsserve.Endpoints, xdsserve.Routes, xdsserve.Scopes, xdsserve.Listener,
}

// short is the last part of a type URL, for example "Listener".
func short(t xdsserve.Type) string { return string(t)[strings.LastIndexByte(string(t), '.')+1:] }

// TypeNames are the short names of the resource types.
func TypeNames() []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = short(t)
	}
	return out
}

// TypeNamed returns the resource type with a short name.
func TypeNamed(name string) (xdsserve.Type, bool) {
	for _, t := range types {
		if short(t) == name {
			return t, true
		}
	}
	return "", false
}
