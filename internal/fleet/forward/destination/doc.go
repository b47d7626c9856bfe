// Package destination says which addresses and ports a forward proxy may connect to.
//
// What counts is the address that is dialled, after every name was looked up, so that
// no name can stand for an address that is refused. The package is pure: it looks up
// and dials nothing.
package destination
