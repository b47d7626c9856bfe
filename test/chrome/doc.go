// Package chrome drives a real Chromium in tests: alone, and through a proxy that it logs
// in to.
package chrome
