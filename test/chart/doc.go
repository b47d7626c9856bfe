// Package chart proves the Helm charts of the PostgreSQL router and of the fleet. It renders
// them with Helm's own engine, keeps the plain manifests in deploy equal to what the charts'
// defaults give, and applies them to a real API server that enforces the restricted
// standard for pods. The real program then runs as a pod of the Deployment would: with its
// arguments, its variables and its account, as its user, in a root without anything else
// in it; and each right that its roles give is shown to be needed.
package chart
