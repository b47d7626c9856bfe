package load

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// The bounds of a load. The last one bounds its memory, about 160 MB.
const (
	MaxRate     = 5000                        // requests per second
	MaxLength   = lab.Moment(time.Hour)       // from the first to the last
	MaxTimeout  = lab.Moment(2 * time.Minute) // of one request
	MaxRequests = 2_000_000
	maxInFlight = 4096
)

// Options are what a load is. Zero values of those below Clock mean a default.
type Options struct {
	// Address is where the proxy listens, "127.0.0.1:8000".
	Address string
	// Rate is how many requests a second are due, from 1 to MaxRate.
	Rate int
	// Length is for how long requests become due, up to MaxLength.
	Length lab.Moment
	// Timeout is when a client gives up, counted from Due; up to MaxTimeout.
	Timeout lab.Moment
	// Clock is the time since the start of the run.
	Clock func() lab.Moment

	// MaxInFlight is how many requests may wait for an answer at once. One that is due
	// beyond that is Unsent. The default is what fits into Timeout at this Rate and a
	// fifth more, at most 4096.
	MaxInFlight int
	// Kept is how many connections are kept, as that many clients do; 16 by default.
	// They take turns. While all are busy, more are opened.
	Kept int
	// FreshEvery makes every n-th request one over a connection of its own, which ends
	// with it; every fourth by default, none if negative.
	FreshEvery int
	// Dial opens connections; by default [net.Dialer]. It must heed its context.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// complete returns o with its defaults, or what is out of bounds.
func (o Options) complete() (Options, error) {
	if err := o.check(); err != nil {
		return o, err
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = int(min(max(int64(o.Rate)*int64(o.Timeout)*6/5/int64(time.Second), 16), maxInFlight))
	}
	if o.Kept == 0 {
		o.Kept = 16
	}
	if o.FreshEvery == 0 {
		o.FreshEvery = 4
	}
	if o.Dial == nil {
		// Probes of idle connections would cost more than they tell in a run.
		o.Dial = (&net.Dialer{KeepAlive: -1}).DialContext
	}
	return o, nil
}

func (o Options) check() error {
	for _, bound := range []struct {
		field  string
		value  any
		ok     bool
		remedy string
	}{
		{"address", strconv.Quote(o.Address), o.Address != "", `give the proxy's, like "127.0.0.1:8000"`},
		{"clock", "none", o.Clock != nil, "give the one of the run"},
		{"rate", o.Rate, o.Rate >= 1 && o.Rate <= MaxRate, fmt.Sprintf("choose 1 to %d requests a second", MaxRate)},
		{"length", time.Duration(o.Length), o.Length > 0 && o.Length <= MaxLength, fmt.Sprintf("choose up to %v", time.Duration(MaxLength))},
		{"timeout", time.Duration(o.Timeout), o.Timeout > 0 && o.Timeout <= MaxTimeout, fmt.Sprintf("choose up to %v", time.Duration(MaxTimeout))},
		{"requests in flight", o.MaxInFlight, o.MaxInFlight >= 0 && o.MaxInFlight <= maxInFlight, fmt.Sprintf("choose up to %d, or 0 for what fits the timeout", maxInFlight)},
		{"kept connections", o.Kept, o.Kept >= 0 && o.Kept <= maxInFlight, fmt.Sprintf("choose up to %d, or 0 for the default", maxInFlight)},
	} {
		if !bound.ok {
			return fmt.Errorf("load: %s %v is out of bounds: %s", bound.field, bound.value, bound.remedy)
		}
	}
	if total := lab.Due(o.Rate, o.Length); total > MaxRequests {
		return fmt.Errorf("load: rate %d for length %v makes %d requests, at most %d are recorded: choose less of either",
			o.Rate, time.Duration(o.Length), total, MaxRequests)
	}
	return nil
}
