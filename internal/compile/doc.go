// Package compile turns Gateway API objects into the model, and decides for
// every object what becomes of it.
//
// It is a set of small pure functions over derived collections, put together by
// Build in the order in which one needs the other:
//
//	wishes      what each Gateway asks for, by its spec, class and settings
//	served      what of it the Gateway gets: ports that no older one holds,
//	            certificates that can be used
//	attachment  for each route and parentRef, the listeners that let it in, and
//	            the domains that both have in common; or the reason against it
//	entrances   for each listener with filters, the services that are asked about
//	            requests before they are routed; or why none passes
//	rules       for each route, its matches and actions with backends resolved
//	streams     for each TCP listener and server name of TLS, the route that has it
//	hosts       for each domain of a route table, the matches in order, and what
//	            each route has of it
//	clusters    the distinct backends of what is left, and their endpoints
//	findings    for each object, whether it serves and why
//
// Only what can be reached counts as used: clusters, grants and Secrets are found
// from the hosts and listeners that serve, so that an object without effect can be
// deleted and nothing changes.
//
// HTTPRoutes and GRPCRoutes share hosts, TCPRoutes and TLSRoutes streams: where they
// meet, routes are known by "Kind namespace/name".
//
// Where Gateway API defines an outcome it is served; what the specification leaves
// open is a failure. A filter that cannot be applied is never skipped: its rule, or
// its listener, answers 500. The package never blocks, logs, or reads a clock.
package compile
