package lab

import (
	"encoding/json"
	"math"
	"time"
)

// Moment is a time since the start of a run. In JSON it is a number of seconds,
// with microseconds.
type Moment time.Duration

// Seconds returns m in seconds.
func (m Moment) Seconds() float64 { return time.Duration(m).Seconds() }

// MarshalJSON implements [json.Marshaler].
func (m Moment) MarshalJSON() ([]byte, error) {
	return json.Marshal(math.Round(m.Seconds()*1e6) / 1e6)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Moment) UnmarshalJSON(text []byte) error {
	var seconds float64
	if err := json.Unmarshal(text, &seconds); err != nil {
		return err
	}
	*m = Moment(math.Round(seconds * float64(time.Second)))
	return nil
}

// Span is a stretch of a run, from From until before To.
type Span struct {
	From Moment `json:"from"`
	To   Moment `json:"to"`
}

// Length returns how long s is.
func (s Span) Length() time.Duration { return time.Duration(s.To - s.From) }

// Contains tells whether m is in s.
func (s Span) Contains(m Moment) bool { return s.From <= m && m < s.To }

// BackendSpan is a stretch during which something held for one backend.
type BackendSpan struct {
	Backend string `json:"backend"`
	Span
	// Partly: it held for some workers or proxies of a group, not for all.
	Partly bool `json:"partly,omitempty"`
}
