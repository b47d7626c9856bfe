// Package fleetapi is the admin API of a fleet, whatever its shell: which Proxies there
// are, and why each is as it is. It asks the shell and changes nothing.
package fleetapi
