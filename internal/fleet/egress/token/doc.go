// Package token knows who may use a super-proxy: by tokens of 256 random bits, of which a
// file has the SHA-256 and a selector that each is limited to.
//
// A guess is not worth throttling, and a sum tells nothing of its token. The file is read
// again once it is another; one with a bad line changes nothing.
package token
