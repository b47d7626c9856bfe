// Package postgres measures the PostgreSQL router beside PgBouncer, a direct
// connection and a relay that only copies, in interleaved rounds: speed, CPU for each
// transaction, connect rate, bulk, and what idle sessions hold.
//
// It runs the real binary; `make bench-postgres` builds it and prints tables.
// docs/benchmarks.md has results and says how to read them.
package postgres
