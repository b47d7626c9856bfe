// Package socks5 reads what a client of SOCKS version 5 sends, and writes the answers
// (RFC 1928), with user names and passwords (RFC 1929).
//
// It reads exactly the bytes of each message, so that what follows stays with whoever
// reads on. It blocks as its reader does, and connects to nothing.
package socks5
