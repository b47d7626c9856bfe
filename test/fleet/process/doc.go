// Package process tests the egress fleet of one machine: the real binaries, real forward
// proxies in network namespaces, a target that says who asked, curl and Chromium.
//
// Every test runs in a network of its own, which is the whole world for it.
package process
