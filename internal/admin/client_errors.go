package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// UnreachableError is the error when no instance answers.
type UnreachableError struct {
	Address string
	// Start is the command that starts one; empty for "gatehouse run --config DIR".
	Start string
	Err   error
}

// Error says what to do.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no gatehouse answers at %s: start it with '%s' or pass --admin-address (%v)", e.Address, cmp.Or(e.Start, "gatehouse run --config DIR"), e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// AbsentError is the error when an object was never seen.
type AbsentError struct{ NeverSeen }

// Error names the object.
func (e *AbsentError) Error() string { return fmt.Sprintf("%s %s was never seen", e.Kind, e.Name) }

// refusal turns an answer that is no success into an error.
func refusal(status int, body []byte) error {
	var p Problem
	if err := json.Unmarshal(body, &p); err != nil || p.Error == "" {
		return fmt.Errorf("the admin API answered HTTP %d: %.200s", status, body)
	}
	if p.NeverSeen != nil {
		return &AbsentError{*p.NeverSeen}
	}
	return fmt.Errorf("%s", p.Error)
}
