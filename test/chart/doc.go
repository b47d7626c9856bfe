// Package chart proves the Helm chart of the PostgreSQL router. It renders it with Helm's
// own engine, keeps the plain manifests in deploy/postgres equal to what the chart's
// defaults give, and applies them to a real API server that enforces the restricted
// standard for pods. The real router then runs as a pod of the Deployment would: with its
// arguments, its variables and its account, as its user, in a root without anything else
// in it; and each right that its roles give is shown to be needed.
package chart
