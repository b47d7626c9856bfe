// Package e2e runs the real gatehouse with real Envoys, real backends and real
// clients, and looks at nothing but what a user can see: answers, verdicts, exit
// codes, and what is left behind.
//
// TestTraffic shares one instance among all its stories, each under a host name
// of its own; what ends or starves an instance has one to itself.
package e2e
