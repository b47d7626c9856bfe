// Package host runs one supervised Envoy process per Gateway on this machine:
// it makes the bootstrap, starts, watches, restarts with back-off, drains and
// stops it, and leaves no orphan. It knows nothing of routes.
//
// Everything lives under Options.StateDir, which belongs to one Supervisor at a
// time:
//
//	proxies.lock                           held while the Supervisor lives
//	proxies/GATEWAY/envoy.log, access.log  what Envoy writes to stderr and stdout
//	proxies/GATEWAY/START/bootstrap.json   one folder per start of a process, gone with it
//	proxies/GATEWAY/START/record.json      who it is, for the next Supervisor
//	run/*.sock                             admin sockets, elsewhere if paths are too long; see SocketDir
//
// Each Gateway has one goroutine (keeper) that owns its process; processes are
// started from one operating-system thread (spawner), because the parent-death
// signal is bound to it. Each call to an Envoy has a deadline.
package host
