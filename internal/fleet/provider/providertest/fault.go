package providertest

import (
	"fmt"
	"slices"
	"time"
)

// Fault is one way in which the world behind a provider fails.
type Fault string

// The faults. Where one has a subject, "on" is the ID of an instance if nothing else
// is said.
const (
	// CreateLost: creates are carried out, and the caller never hears of it.
	CreateLost Fault = "CreateLost"
	// CreateUnavailable: creates fail before they are carried out, as with 503.
	CreateUnavailable Fault = "CreateUnavailable"
	// CreateInvalid: what is asked for is refused for good, as with 400.
	CreateInvalid Fault = "CreateInvalid"
	// QuotaNow and QuotaLater: a limit of the account refuses the create itself, or ends
	// the operation that was accepted, so that there is no instance.
	QuotaNow   Fault = "QuotaNow"
	QuotaLater Fault = "QuotaLater"
	// StockoutNow and StockoutLater are the same for a lack of machines.
	StockoutNow   Fault = "StockoutNow"
	StockoutLater Fault = "StockoutLater"
	// NameTaken: on is a name, and an instance with it appears that has none of our labels.
	NameTaken Fault = "NameTaken"
	// AddressLate: instances run without an address.
	AddressLate Fault = "AddressLate"

	// GetUnavailable: reads of one instance fail, as with 500.
	GetUnavailable Fault = "GetUnavailable"
	// GetDenies: reads of one instance say that it does not exist although it does.
	GetDenies Fault = "GetDenies"
	// Stops: the instance stops by itself, as when it crashes or is preempted.
	Stops Fault = "Stops"
	// Restarts: the instance stops and starts again, with another address.
	Restarts Fault = "Restarts"
	// Vanishes: the instance is deleted by somebody else.
	Vanishes Fault = "Vanishes"
	// ClockSkew: the clock that creation times are taken from is ahead by [Skew].
	ClockSkew Fault = "ClockSkew"

	// DeleteUnavailable: deletes fail, as with 503.
	DeleteUnavailable Fault = "DeleteUnavailable"
	// DeleteLost: deletes are carried out, and the caller never hears of it.
	DeleteLost Fault = "DeleteLost"
	// DeleteStalls: deletes are accepted and do not end.
	DeleteStalls Fault = "DeleteStalls"

	// ListUnavailable: lists fail entirely.
	ListUnavailable Fault = "ListUnavailable"
	// ListPartial: a scope cannot be seen; instances made by [World.Request] are in another.
	ListPartial Fault = "ListPartial"
	// ListPages: lists come in pages of one instance.
	ListPages Fault = "ListPages"
	// ListEmptyPage: the first page of a list is empty, and more follow.
	ListEmptyPage Fault = "ListEmptyPage"
	// ListRepeats: lists have every instance twice.
	ListRepeats Fault = "ListRepeats"
	// Duplicate: a second instance with all labels of on exists, in another zone,
	// namespace or under another name.
	Duplicate Fault = "Duplicate"

	// Hangs: nothing answers.
	Hangs Fault = "Hangs"
	// Throttles: every call is refused because there were too many, as with 429.
	Throttles Fault = "Throttles"
	// Forbids: every call is refused for want of rights, as with 403.
	Forbids Fault = "Forbids"
)

// Skew is how far the clock of [ClockSkew] is ahead.
const Skew = 3 * time.Hour

func (f Fault) known() bool {
	return slices.ContainsFunc(clauses, func(c clause) bool { return slices.Contains(c.faults, f) })
}

// clause is one thing that every provider does.
type clause struct {
	name   string
	faults []Fault // that it needs
	test   func(r *rig)
}

// impossible says which of the clause's faults the subject cannot have, and why.
func (c clause) impossible(s Subject) (reason string, not bool) {
	for _, f := range c.faults {
		if why, declared := s.Impossible[f]; declared {
			return fmt.Sprintf("%s, for there is no %s: %s", c.name, f, why), true
		}
	}
	return "", false
}

var clauses = slices.Concat(plain, creating, looking, deleting, listing, anyCall)
