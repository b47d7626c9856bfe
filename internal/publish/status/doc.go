// Package status publishes what became of objects as the status that an API
// server would hold: it joins the conditions that compile decided with what only
// proxies can tell (Programmed), and remembers when each condition last changed.
//
// In standalone mode the target is the admin API; it never writes into files.
package status
