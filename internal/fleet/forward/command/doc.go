// Package command is the command line of the forward proxy, the same for the small
// binary gatehouse-forward and for "gatehouse forward".
//
// It turns flags into a checked configuration, opens the listeners, and runs until its
// context ends. Every error is one line that names the flag, the value and the remedy.
package command
