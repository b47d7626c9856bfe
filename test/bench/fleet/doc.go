// Package fleet measures the egress fleet: how soon many Proxies that are created at
// once are provisioned under a limit of requests, in synthetic time, with the real
// reconciler, limiter and client of a cloud.
package fleet
