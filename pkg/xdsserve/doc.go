// Package xdsserve serves xDS resources to proxies over delta ADS: changes of
// resources go in, one stream per proxy comes out, each in the order that makes
// before it breaks, and a ledger says what every proxy has acknowledged or refused.
//
// It knows the resource types of Envoy's xDS and nothing of what they are made
// from: origins are opaque strings that come back with a refusal. It owns one
// goroutine per stream; a slow proxy delays nobody else.
package xdsserve
