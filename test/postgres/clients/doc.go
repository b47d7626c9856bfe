// Package clients has programs that play the same cases through the router, each with one
// PostgreSQL driver in the driver's own language, and the test that compares what they say.
//
// A program is called with host, port, login, password and the file of the authority that
// it must verify, empty for a session in clear. It prints a line of JSON for each case:
// {"case", "value"}, or {"case", "sqlstate", "error"} for what failed. Before the last one
// it says {"case": "waiting"} and runs a query that does not end by itself.
package clients
