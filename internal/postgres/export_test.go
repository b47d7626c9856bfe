package postgres

// CutUnreachable looks as often as a test has patience for.
var CutUnreachable = (*Router).cutUnreachable

// Sessions are how many there are, those included that wait for a server.
func Sessions(r *Router) int { return len(r.roster.sessions()) }
