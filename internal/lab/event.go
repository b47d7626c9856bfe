package lab

// Kind is what an event does.
type Kind string

// The kinds of events. In the models they are idempotent, as sets are.
const (
	Add    Kind = "add"    // a backend becomes routable
	Remove Kind = "remove" // a backend is not routable any more, and proxies are told
	// Lose ends a backend before anybody knows: it is not routable any more, but what
	// tells the proxies says nothing until the Remove that follows.
	Lose   Kind = "lose"
	Reload Kind = "reload" // the proxies that reload do so now
)

// End is how a removed backend ends, once its grace is over.
type End string

// The ways to end. Clients of a stopped or killed backend are refused, clients of one
// that vanished wait until they give up.
const (
	Stop   End = "stop"   // it finishes its requests and exits
	Kill   End = "kill"   // it is gone at once, with its connections
	Vanish End = "vanish" // its address drops packets
)

// Event is one change of the truth, or a reload.
type Event struct {
	At   Moment `json:"at"`
	Kind Kind   `json:"kind"`
	// Backend is the name of a backend, as the script gives it; empty for Reload.
	Backend string `json:"backend,omitempty"`
	// Address is where it listens, for example "10.0.1.11"; models ignore it.
	Address string `json:"address,omitempty"`
	// End and Grace say how a removed or lost backend ends: Grace later. Zero is at once.
	// The Remove of a lost backend repeats its End, and has nothing left to end.
	End   End    `json:"end,omitempty"`
	Grace Moment `json:"grace,omitempty"`
	// Proxy limits a Reload to the proxy of that name; empty is all that reload.
	Proxy string `json:"proxy,omitempty"`
	// Line is where the script says so, from 1; 0 for built-in scripts.
	Line int `json:"line,omitempty"`
}

// Policy says when a proxy that reloads does so, beside the Reload events of a script.
// The zero Policy reloads at these events only.
type Policy struct {
	// OnChange reloads after a change: Batch after the first change that is not yet
	// loaded, and no sooner than Interval after the last reload.
	OnChange bool   `json:"onChange,omitempty"`
	Interval Moment `json:"interval,omitempty"`
	Batch    Moment `json:"batch,omitempty"`
}

// Timeline is a script that is laid out in time: its events in order of At.
type Timeline struct {
	// Name is what the script calls itself, or its file's or the built-in script's name.
	Name   string  `json:"name"`
	Events []Event `json:"events"`
	// Length is the duration of the run. Every event is earlier, so that what it does takes
	// time: at Length itself nothing holds any more.
	Length Moment `json:"length"`
	Reload Policy `json:"reload"`
}
