package discovery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// acquireForm is the body of a request for a lease.
type acquireForm struct{ lease.Request }

var acquireNames = []string{"selector", "ttlSeconds", "target", "namespace", "session", "exclude"}

func (*acquireForm) names() []string { return acquireNames }

func (f *acquireForm) set(name string, value jsontext.Value) (err error) {
	switch name {
	case "selector":
		f.Selector.Attributes, err = attributesOf(value)
	case "ttlSeconds":
		f.TTL, err = ttlOf(value)
	case "target":
		f.Target, err = targetOf(value)
	case "namespace":
		if f.Selector.Namespace, err = text(name, value); err == nil {
			_, err = namespace(InvalidSelector, f.Selector.Namespace)
		}
	case "session":
		f.Session, err = sessionOf(value)
	case "exclude":
		f.Exclude, err = excludedOf(value)
	}
	return err
}

// acquire grants a lease.
func (a *API) acquire(c *call) error {
	l, o, err := a.grant(c)
	a.count(err)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, leaseAnswer{
		LeaseID: l.ID, Proxy: leasedProxy(o, &l, a.active(c.r.Context(), l.Proxy.UID)), Target: l.Target,
		ExpiresAt: timestamp(l.ExpiresAt), TTLSeconds: int64(l.TTL / time.Second), Rebound: l.Rebound,
	})
}

func (a *API) count(err error) {
	switch {
	case a.Metrics == nil:
	case err == nil:
		a.Metrics.LeaseRequest(Granted)
	case err != errGone: //nolint:errorlint // it is never wrapped
		a.Metrics.LeaseRequest(string(refusalOf(err).code))
	}
}

func (a *API) grant(c *call) (lease.Lease, *offer.Offer, error) {
	none := func(err error) (lease.Lease, *offer.Offer, error) { return lease.Lease{}, nil, err }
	query, err := queryOf(c.r, "", "wait")
	if err != nil {
		return none(err)
	}
	wait, err := waitOf(query)
	if err != nil {
		return none(err)
	}
	f := acquireForm{lease.Request{TTL: lease.DefaultTTL}}
	if f.Key, err = keyOf(c.r.Header); err != nil {
		return none(err)
	}
	f.Key = a.keyed(f.Key)
	if err := read(c.r, &f); err != nil {
		return none(err)
	}
	f.Body = strings.Join(f.Exclude, " ")
	if err := a.serving(); err != nil {
		return none(err)
	}
	return a.fit(c.r.Context(), f.Request, wait)
}

// keyed is a key of this token, which others cannot use and no store shows.
func (a *API) keyed(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256(append(a.token[:], key...))
	return hex.EncodeToString(sum[:16])
}

// maxTries bounds how often a lease is given back because its proxy has just changed.
const maxTries = 4

// fit acquires a lease on a proxy that is known here as it was granted.
func (a *API) fit(ctx context.Context, r lease.Request, wait time.Duration) (lease.Lease, *offer.Offer, error) {
	until := time.Now().Add(wait)
	for range maxTries {
		l, err := a.get(ctx, r, max(0, min(wait, time.Until(until))))
		if err != nil {
			return lease.Lease{}, nil, err
		}
		if err := a.serving(); err != nil { // any more: another process may grant the same proxy
			_ = a.Store.Release(ctx, l.ID) // if not, it ends by itself
			return lease.Lease{}, nil, err
		}
		if o := a.Book.ByUID(l.Proxy.UID); o != nil && o.Lease.Instance == l.Proxy.Instance {
			return l, o, nil
		}
		if err := a.Store.Release(ctx, l.ID); err != nil {
			return lease.Lease{}, nil, err
		}
		r.Exclude = append(slices.Clip(r.Exclude), l.Proxy.Namespace+"/"+l.Proxy.Name)
	}
	return lease.Lease{}, nil, refuse(StoreUnavailable, "proxies are changing just now: ask again").after(soon)
}

func (a *API) get(ctx context.Context, r lease.Request, wait time.Duration) (lease.Lease, error) {
	if wait > 0 {
		waiting, cancel := a.waiting(ctx)
		defer cancel()
		ctx = waiting
	}
	l, err := a.Store.AcquireWithin(ctx, r, wait)
	return l, interrupted(ctx, err)
}

// active is how many leases a proxy has, of which one has just been granted.
func (a *API) active(ctx context.Context, uid string) int {
	u, err := a.Store.Use(ctx, uid)
	if err != nil {
		return 1
	}
	return max(1, u.Active)
}

// renewForm is the body of a renewal.
type renewForm struct{ ttl time.Duration }

var renewNames = []string{"ttlSeconds"}

func (*renewForm) names() []string { return renewNames }

func (f *renewForm) set(_ string, value jsontext.Value) (err error) {
	f.ttl, err = ttlOf(value)
	return err
}

// renew lets a lease end later.
func (a *API) renew(c *call) error {
	if _, err := queryOf(c.r, ""); err != nil {
		return err
	}
	f := renewForm{lease.DefaultTTL}
	if err := read(c.r, &f); err != nil {
		return err
	}
	if err := a.known(c); err != nil {
		return err
	}
	l, err := a.Store.Renew(c.r.Context(), c.id, f.ttl)
	if err != nil {
		return interrupted(c.r.Context(), err)
	}
	out := renewAnswer{LeaseID: l.ID, ExpiresAt: timestamp(l.ExpiresAt)}
	if !l.CoolingUntil.IsZero() {
		out.CoolingUntil = timestamp(l.CoolingUntil)
	}
	if o := a.Book.ByUID(l.Proxy.UID); o != nil && o.Lease.Instance == l.Proxy.Instance && o.CredentialsEnd() {
		out.Proxy = new(leasedProxy(o, &l, a.active(c.r.Context(), l.Proxy.UID)))
	}
	return c.answer(http.StatusOK, out)
}

// known refuses an ID that no lease can have, without asking the store.
func (a *API) known(c *call) error {
	if err := a.serving(); err != nil {
		return err
	}
	if !isID(c.id) {
		return lease.ErrUnknown
	}
	return nil
}

// isID says whether a lease can have this ID: 32 hexadecimal digits in lower case.
func isID(id string) bool {
	if len(id) != 32 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// release ends a lease. One that is unknown has ended.
func (a *API) release(c *call) error {
	if err := a.serving(); err != nil {
		return err
	}
	if isID(c.id) {
		if err := a.Store.Release(c.r.Context(), c.id); err != nil {
			return interrupted(c.r.Context(), err)
		}
	}
	return c.nothing()
}

// reportForm is the body of a report.
type reportForm struct {
	result lease.Result
	target string
}

var reportNames = []string{"result", "target"}

func (*reportForm) names() []string { return reportNames }

func (f *reportForm) set(name string, value jsontext.Value) (err error) {
	if name == "result" {
		f.result, err = resultOf(value)
		return err
	}
	f.target, err = targetOf(value)
	return err
}

// report takes what became of a lease's use.
func (a *API) report(c *call) error {
	if _, err := queryOf(c.r, ""); err != nil {
		return err
	}
	var f reportForm
	if err := read(c.r, &f); err != nil {
		return err
	}
	if f.result == "" {
		return refuse(InvalidResult, "result is missing: send ok, rate_limited or banned").of("result")
	}
	if err := a.known(c); err != nil {
		return err
	}
	if err := a.Store.Report(c.r.Context(), c.id, f.result, f.target); err != nil {
		return interrupted(c.r.Context(), err)
	}
	return c.nothing()
}
