package app

import (
	"context"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/metrics"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// measure is what scrapes read of leases.
func (f *fleet) measure(ctx context.Context) metrics.Leases {
	now := metrics.Leases{Waiting: f.seat.Waiters(), Offers: map[offer.Why]int{}}
	for o := range f.roster.All() {
		now.Offers[o.Why]++
	}
	if f.serving() != nil {
		return now
	}
	uses, whole, err := f.seat.Survey(ctx)
	if err != nil {
		return now
	}
	var active, cooldowns, cooling int
	for uid, u := range uses {
		active += u.Active
		cooldowns += len(u.Cooldowns)
		if o := f.roster.ByUID(uid); len(u.Cooldowns) > 0 && o != nil && o.Why == offer.Offered {
			cooling++
		}
	}
	if now.Active = &active; whole {
		now.Cooldowns, now.Cooling = &cooldowns, &cooling
	}
	return now
}
