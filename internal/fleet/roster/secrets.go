package roster

import (
	"context"
	"errors"
	"maps"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// secret is one that Proxies name. It is kept until it changes.
type secret struct {
	known bool
	value *core_v1.Secret // nil when it is not there
	users map[types.NamespacedName]bool
}

// secrets are those that a Proxy names for its clients; nil are not there.
type secrets struct{ auth, ca *core_v1.Secret }

// secretsOf returns the Secrets of a Proxy, false while one of them cannot be read and
// never could be: they are tried again, and the Proxy with them.
func (r *Roster) secretsOf(ctx context.Context, p *proxy) (out secrets, known bool) {
	known = true
	used := map[types.NamespacedName]bool{}
	get := func(name string) *core_v1.Secret {
		key := types.NamespacedName{Namespace: p.Namespace, Name: name}
		used[key] = true
		s := r.use(ctx, key, keyOf(p))
		known = known && s.known
		return s.value
	}
	if a := p.Spec.Auth; a != nil {
		out.auth = get(a.SecretRef.Name)
	}
	if t := p.Spec.TLS; t != nil && t.CASecretRef != nil {
		out.ca = get(t.CASecretRef.Name)
	}
	r.unuse(keyOf(p), used)
	return out, known
}

// use returns a Secret, read now if it is the first time.
func (r *Roster) use(ctx context.Context, key, user types.NamespacedName) *secret {
	s := r.secrets[key]
	if s == nil {
		s = &secret{users: map[types.NamespacedName]bool{}}
		r.secrets[key] = s
		if err := r.read(ctx, key, s); err != nil {
			r.Log.Warn("a Secret cannot be read; tried again", observe.KeyObject, key.String(), observe.KeyError, err)
			r.queue.AddRateLimited(item{ofSecret, key})
		}
	}
	s.users[user] = true
	return s
}

// unuse forgets that a Proxy uses other Secrets than those.
func (r *Roster) unuse(user types.NamespacedName, but map[types.NamespacedName]bool) {
	for _, key := range r.usedBy[user] {
		if but[key] {
			continue
		}
		if s := r.secrets[key]; s != nil {
			if delete(s.users, user); len(s.users) == 0 {
				delete(r.secrets, key)
			}
		}
	}
	if len(but) == 0 {
		delete(r.usedBy, user)
		return
	}
	keys := make([]types.NamespacedName, 0, len(but))
	for key := range but {
		keys = append(keys, key)
	}
	r.usedBy[user] = keys
}

// read puts what a Secret is now in the place of what was known. On an error that stays.
func (r *Roster) read(ctx context.Context, key types.NamespacedName, s *secret) error {
	now, err := bounded(ctx, func(ctx context.Context) (*core_v1.Secret, error) { return r.Objects.Secret(ctx, key) })
	if err != nil && !errors.Is(err, reconcile.ErrNoObject) {
		return err
	}
	if err != nil {
		now = nil
	}
	s.known, s.value = true, now
	return nil
}

// secretChanged reads a Secret that Proxies use, and has them looked at if it is another.
func (r *Roster) secretChanged(ctx context.Context, key types.NamespacedName) (done bool) {
	s := r.secrets[key]
	if s == nil {
		return true
	}
	before := *s
	if err := r.read(ctx, key, s); err != nil {
		r.Log.Debug("a Secret cannot be read; tried again", observe.KeyObject, key.String(), observe.KeyError, err)
		return false
	}
	if before.known && equal(before.value, s.value) {
		return true
	}
	for user := range maps.Keys(s.users) {
		r.Touch(user)
	}
	return true
}

func equal(a, b *core_v1.Secret) bool {
	if a == nil || b == nil {
		return a == b
	}
	return maps.EqualFunc(a.Data, b.Data, func(x, y []byte) bool { return string(x) == string(y) })
}
