// Package tlsstore keeps the certificate that PostgreSQL clients see. It turns files
// that are watched, or a certificate made in memory that is renewed in time, into
// configurations for crypto/tls. A new certificate counts for handshakes that begin
// afterwards; sessions under way keep theirs.
//
// A pair of certificate and key that cannot be served is refused, and the previous one
// serves on. Handshakes never wait for a source; only Run and the functions that make a
// Store read files. No log holds key material.
package tlsstore
