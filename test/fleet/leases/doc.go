// Package leases tries the real binary over what ends and begins: a restart, a kill, a
// leader that changes, an instance that is replaced. What was leased before is leased
// after, or its holder is told.
package leases
