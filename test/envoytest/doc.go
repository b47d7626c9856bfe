// Package envoytest lets tests use a real Envoy: Check asks it whether it would
// take configurations, Start runs one with a configuration.
//
// Both take an ordinary bootstrap. Static makes one of xDS resources by putting
// each where Envoy would otherwise ask for it (route tables into listeners,
// endpoints into clusters), so that what translate made is tried as it is and
// without a control plane.
//
// Envoy is found through $GATEHOUSE_ENVOY, else in Gatehouse's cache directory;
// a missing one fails the test, as "make envoy" gets it.
package envoytest
