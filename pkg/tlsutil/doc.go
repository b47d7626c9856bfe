// Package tlsutil makes self-signed certificates, inspects PEM certificates, and
// checks that a certificate chain and a private key belong together.
//
// It reads no clock: callers pass the time in. It never prints or returns key
// material in an error.
package tlsutil
