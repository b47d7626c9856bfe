// Package envoy turns model values into Envoy resources, one resource per thing,
// each with the objects that it came from. It is pure: the same model gives the
// same bytes, and a changed value costs its own translation.
//
// Everything is checked before it leaves: Envoy's own protobuf rules, regular
// expressions as RE2 would compile them, durations, header names and values,
// paths, host names, key pairs. A value that fails a check is a Failure for its
// key and holds nothing else back; inside a route table, a route that cannot be
// made answers 500 in its place (or is left out where its match is the problem),
// and a virtual host or a TLS chain that cannot be made is left out.
//
// # What a client meets
//
// Where Gateway API is silent, the settings are those of Envoy's guide for
// proxies at the edge, with these decisions:
//
//   - Paths are normalised (RFC 3986, and slashes that follow each other become
//     one) before they are matched and forwarded. Gateway API cannot name a path
//     with //, /./ or /../, so that a route would be passed by with one.
//     A path with an escaped slash is redirected to the path that it stands for.
//
//   - Headers with underscores pass, because an HTTPRoute can match them.
//
//   - The client's address is that of its connection (use_remote_address);
//     x-forwarded-for is appended to. Envoy's own x-envoy headers are neither
//     taken from clients nor sent to backends. The backend's Server header stays.
//
//   - A port or a trailing dot in the Host header does not count in host matching;
//     the port reaches the backend.
//
//   - Request headers must arrive within 10 s, and a stream may be idle for 5
//     minutes. Requests have no other time limit than their route's, so Envoy's
//     default of 15 s is off.
//
//   - WebSocket upgrades are forwarded.
//
//   - A request that no backend has begun to process is tried twice more, at
//     other endpoints where there are any. A route with retries of its own has
//     those instead, and counts connections and tries that end early among them.
//
//   - A mirror sees the request as the backend does, under the same host.
//
//   - A CORS preflight is answered by the route whose match takes it, method
//     included. Where everything is allowed, the answer names what was asked for.
//     A route that redirects, or has no backend that could be used, answers preflights
//     and marks its answers as well: browsers follow no redirect that is not marked.
//
//   - The datagrams of a client, its address and port, go to one endpoint until there
//     are none for a minute; what would go to a missing backend is dropped. A backend
//     has at most 65,536 such clients at a time, as their addresses can be made up.
//
// # What Envoy has no field for
//
//   - A rewrite, redirect, mirror or CORS policy of one backend: each share is a
//     route of its own with the same match, and a bound on Envoy's draw for the
//     request. Envoy draws once for all routes, so that bounds that add up give
//     each share its weight, to a millionth.
//
//   - A service that is asked for leave, with what it is sent of the request: Envoy has
//     the service as a setting of a route, and the rest as one of the listener. Each of
//     four filters that do nothing can be replaced, by the route and as the request
//     passes, by a whole one. What a service is asked about is the request as it came;
//     a preflight that CORS answers is not. Its own failure answers 500.
//
//   - CORS where nothing is forwarded: Envoy's filter looks at routes with a cluster only.
//     What has no backend goes to a cluster that does not exist, whose absence is
//     answered with 500. So do preflights that would be redirected, except that none
//     gets there; a redirect of an allowed origin is a route of its own, which marks it.
//
//   - A service that a listener asks before routes are matched: hosts tell listeners
//     apart, so that each host of one has such filters, in front of all others, and a
//     last route for what no other takes, as settings of a host are for its routes.
//
//   - A least rate of retries: Envoy counts those that are under way, so that a rate is
//     taken for as many at a time as it has in a second. A request whose retry is over
//     budget gets what its last try got, which is 503 only where no backend answered.
//
//   - A session that ends by time in a cookie that clients drop when they end: Envoy
//     keeps the time in the cookie's value and tells clients of it, too; a script
//     takes out what it tells them. A session is a setting of a share, with a cookie
//     of its own, so that weights decide which backend a request goes to.
//
//   - A gRPC call without a backend: 503, of which Envoy makes the status UNAVAILABLE.
//
//   - Weights of UDP: the hash of a client's port, turned by that of its address,
//     chooses among the backends, so that many ports of one address and many addresses
//     with one port both meet the weights.
//
//   - TLS by server name: each name is a filter chain. A listener has one for its own
//     name also without a route, which closes connections, so that none falls to a
//     listener with a wildcard.
//
// Authorities for backends and clients are part of their cluster and listener: they
// change rarely, and with them what rests on them.
//
// # Names
//
// Resources are named by identity: a listener by its key in the model, a table
// by its TableID, clusters and endpoints by ClusterID, secrets by CertificateID.
// All but endpoints belong to the group of their Gateway.
package envoy
