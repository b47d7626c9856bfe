// Package kube finds servers in Kubernetes: it watches the Services that labels choose
// and the EndpointSlices behind them, and tells package index of each change, which
// answers. Listing, watching and doing so again after a failure is client-go's Reflector;
// objects are stripped when they arrive, and kept once, in the index.
//
// What was found stays in use while the API cannot be reached. Nobody who asks where a
// session goes ever waits for the API.
package kube
