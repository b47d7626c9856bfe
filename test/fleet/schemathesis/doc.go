// Package schemathesis holds the lease API against its own description, by a program that
// nobody here wrote: it makes requests that the description allows, and others that it does
// not, follows links, and compares every answer. Without that program, which "make
// schemathesis" brings, the examples of the description are played.
package schemathesis
