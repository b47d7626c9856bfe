// Package prover judges candidates by what a real Envoy says of them: it turns their
// resources into what a proving Envoy takes without serving anything, publishes these,
// waits until all are answered, and turns what was refused back into the resources that
// were judged. After a candidate that is not accepted it publishes what was there before.
// It blocks, at most as long as its context and its own bounds allow; it starts no
// process and opens no socket, and never sees objects.
//
// # What the proving Envoy gets
//
// All Gateways share it, so that names have the Gateway's in front. Listeners bind no
// port, and each address of each Gateway becomes one that no other has. Clusters are
// static ones without endpoints, so that none warms and nothing is dialled; endpoints
// are not judged. Route tables and scopes become one scope for each virtual host, under
// keys that no listener looks up: a changed host costs its own size, however large its
// table is, and two hosts of one domain, which Envoy could no longer see, are found
// here. Listeners look routes up in an empty table instead.
package prover
