// Package redis is a lease.Store whose leases are in Redis or Valkey, 7 or later, so that
// several processes grant them.
//
// Each operation is one script, which the server runs as a whole: it ends what has ended
// by the server's clock, then selects, checks and grants. Nothing is ever granted by what
// this process remembers, and nothing that a script needs is shipped to it by the
// proxy: it finds the fittest proxy in an index for the selector that is asked for. All
// keys have one hash tag, and so are in one slot of a cluster.
//
// What is kept, under "{PREFIX}:":
//
//	proxies, docs     hashes by UID: what selection needs to know, and what was told
//	members           set of all proxies
//	in:NS, has:K\0V   sets of them, by namespace and by attribute, that pools are made of
//	all:N             what the selector of pool N matches
//	open:N            of those, who can take a lease, by leases and latency
//	full:N            who is at capacity, by the end of its first lease
//	selectors, used   of the pools: their selectors, and when they were asked for
//	leases            hash: each lease that is active or can be reported about
//	held:UID          the active ones of a proxy, by their end
//	on:UID            hash: how many it has for each target, if these are limited
//	requests          hash: the lease of an idempotency key
//	sessions          hash: the last lease of a session and selector
//	cooling:UID       hash: the cooldowns of a proxy by target
//	resting:TARGET    the proxies that cool down for it, by the end
//	due               when leases end, and when cooldowns are forgotten
//	ended             list: when leases can no longer be reported about, in that order
//	meta              hash: the last fence, counters, who told of proxies
//
// Proxies are told by one process, which tells again what a server lost that failed or
// was replaced. Calls block for at most two seconds. Errors of the server, whatever they
// are, are lease.ErrUnavailable.
package redis

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// maxPools bounds the indexes that are kept for selectors.
const maxPools = 256

// maxEnded bounds the leases that have ended and can still be reported about: if there are
// more, those that ended first are forgotten.
const maxEnded = 1_000_000

// Options of a store.
type Options struct {
	// Fleet tells fleets that have one server apart: each has keys of its own, and knows
	// nothing of the others' proxies. A prefix in the URL counts in its place.
	Fleet string
	// Windows are [lease.DefaultWindows] by default.
	Windows lease.Windows
	// Policy is [lease.LeastLeases], the only one there is here.
	Policy lease.Policy
	// Log is told when the server is lost and found.
	Log *slog.Logger
	// Now replaces the server's clock in tests.
	Now func() time.Time
}

// Store is a lease.Store in Redis or Valkey.
type Store struct {
	Options
	address
	client  goredis.UniversalClient
	scripts scripts
	keys    []string
	touched touches
	docs    docs
	teller  teller
	given   given
	stop    context.CancelFunc
	done    sync.WaitGroup
}

var (
	_ lease.Store  = (*Store)(nil)
	_ lease.Keeper = (*Store)(nil)
)

// Open returns the store at a URL, which is redis://[USER:PASSWORD@]HOST[:PORT][/DB] or
// rediss://… with options after "?": prefix=NAME of all keys, addr=HOST:PORT of further
// servers, sentinel=NAME, cluster=true, wait-replicas=N, password-file=FILE, ca=FILE. An
// error means that the URL is none; the server need not be there yet. The store watches
// its server until Close, or until ctx ends.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	a, err := parseAddress(url)
	if err != nil {
		return nil, fmt.Errorf("URL of the store of leases: %w", err)
	}
	if o.Policy != "" && o.Policy != lease.LeastLeases {
		return nil, fmt.Errorf("policy of leases: %q is for the store in memory; with Redis it must be %s", o.Policy, lease.LeastLeases)
	}
	if a.prefix == "" {
		a.prefix = prefixOf(o.Fleet)
	}
	if o.Windows == (lease.Windows{}) {
		o.Windows = lease.DefaultWindows()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Store{
		Options: o, address: a, client: dial(a), scripts: compile(o.Windows), keys: []string{"{" + a.prefix + "}"},
		teller: newTeller(), stop: stop,
	}
	s.done.Go(func() { s.watch(ctx) })
	return s, nil
}

// Close ends what Open began. Leases stay.
func (s *Store) Close() error {
	s.stop()
	s.done.Wait()
	return s.client.Close()
}
