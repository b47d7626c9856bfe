package store_test

import (
	"errors"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

var secret = store.Key{Collection: "Secret", Name: "shop/tls"}

func unread(version string) store.View {
	return store.View{}.Apply(store.Edit{Key: secret, Value: store.Unread("meta", version)})
}

func body(t *testing.T, v store.View) any {
	t.Helper()
	value, _ := v.Get(secret)
	b, _ := value.(*store.OnDemand).Body()
	return b
}

// TestFill: the body is in the filled View, and in no other.
func TestFill(t *testing.T) {
	before := unread("7")
	after, err := before.Fill(secret, "7", "the bytes")
	if err != nil {
		t.Fatal(err)
	}
	require(t, "before", nil, body(t, before))
	require(t, "after", any("the bytes"), body(t, after))
	require(t, "revision", before.Revision()+1, after.Revision())
	value, _ := after.Get(secret)
	require(t, "metadata", any("meta"), value.(*store.OnDemand).Meta())
}

// TestFilledBodyStays: a second body of the same version is not taken, and a new
// version does not reach Views that have the old one.
func TestFilledBodyStays(t *testing.T) {
	filled, _ := unread("7").Fill(secret, "7", "the bytes")
	again, err := filled.Fill(secret, "7", "other bytes")
	if err != nil || again != filled {
		t.Errorf("filled again: %v, err %v", body(t, again), err)
	}
	newer := filled.Apply(store.Edit{Key: secret, Value: store.Unread("meta", "8")})
	require(t, "newer", nil, body(t, newer))
	require(t, "captured", any("the bytes"), body(t, filled))
}

// TestFillRefuses what is not the body of exactly what the View has.
func TestFillRefuses(t *testing.T) {
	plain := store.View{}.Apply(store.Edit{Key: secret, Value: "plain"})
	for name, c := range map[string]struct {
		view    store.View
		version string
		body    any
		want    string
	}{
		"stale body":   {unread("8"), "7", "b", `fill Secret shop/tls: body of version "7", but the view has version "8": capture the object again`},
		"deleted":      {store.View{}, "7", "b", "fill Secret shop/tls: no such value in this view"},
		"plain value":  {plain, "7", "b", "fill Secret shop/tls: not an on-demand value"},
		"without body": {unread("7"), "7", nil, "fill Secret shop/tls: no body given"},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := c.view.Fill(secret, c.version, c.body)
			if after != c.view {
				t.Error("a refused body made another view")
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("got error %v, want %s", err, c.want)
			}
		})
	}
}

// TestFillErrorsCanBeAsked: callers tell a stale capture from a deletion without reading text.
func TestFillErrorsCanBeAsked(t *testing.T) {
	_, err := unread("8").Fill(secret, "9", "b")
	stale, ok := errors.AsType[*store.StaleError](err)
	if !ok || *stale != (store.StaleError{Key: secret, Have: "8", Got: "9"}) {
		t.Errorf("got %#v", err)
	}
	if _, err = (store.View{}).Fill(secret, "9", "b"); !errors.Is(err, store.ErrAbsent) {
		t.Errorf("got %#v", err)
	}
}
