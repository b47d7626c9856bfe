// Package lab holds what the propagation laboratory speaks of: events that change
// which backends are routable, what each proxy believes about them, and how wrong
// that is, for how long, and what it costs the requests.
//
// It turns events and beliefs into wrong views and counts. It reads no clock, runs
// nothing and writes nothing: the models (internal/lab/model), the real proxies
// (internal/lab/experiment) and the reports (internal/lab/report) meet in its values.
//
// Words. A backend is routable while the script says so; all routable backends at a
// moment are the truth. What a proxy would route to is its belief. A backend that is
// routable but not believed is missing: capacity that nobody uses. One that is
// believed but not routable is stale: requests go to the dead.
package lab
