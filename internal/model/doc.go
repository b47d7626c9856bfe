// Package model is the gateway configuration in the words of the data plane,
// but of no particular data plane: what listens, which hosts it answers, which
// routes match there, which backends they use, and where those are.
//
// compile produces these values from Gateway API objects; translate turns them
// into one data plane's configuration. Values are immutable once produced: no
// function may change a value, or anything it points to, that it did not make.
package model
