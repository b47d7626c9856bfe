// Package pods tests the egress fleet in a cluster from end to end: Proxies at a real API
// server, the controller with the rights that it needs and no more, pods, the real
// gatehouse-forward in each of them (test/fleet/podrunner), and curl through it to a
// target that says who asked.
package pods
