// Package config turns flags, environment and a strict YAML file into one
// validated value. It is defaulted first, then validated, on every path; an
// error names the field, its value, and the remedy.
package config
