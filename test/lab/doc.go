// Package lab runs "gatehouse lab" with the real binary, real proxies and real
// backends, and looks at what a user can see: tables, exit codes, and what is left
// behind.
//
// Runs are short in "make test"; "make lab" plays the same for as long as
// $GATEHOUSE_LAB_DURATION says.
package lab
