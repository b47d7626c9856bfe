// Package egress measures the super-proxy beside squid with a parent: each goes by the same
// gatehouse-forward to the same target, in turns, on one machine.
package egress
