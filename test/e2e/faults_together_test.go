package e2e

import (
	"context"
	"testing"
)

// TestGoTogether: two objects of which neither is good without the other advance
// together, in one batch or as soon as both are there.
func TestGoTogether(t *testing.T) {
	s := judged(t, "-together", "first-mark,second-mark")
	both := map[string]string{"first": "green", "second": "blue"}
	first, second := marked("first", "first-mark", "green"), marked("second", "second-mark", "blue")
	t.Run("in two steps", func(t *testing.T) {
		fault{
			inject: writes("first.yaml", first), rejected: "httproute e2e/first", says: "go together",
			not: []string{"first"}, repair: writes("second.yaml", second), then: both,
		}.run(t, s)
	})
	t.Run("what one leaves behind stays", func(t *testing.T) {
		fault{
			inject: writes("second.yaml", marked("second", "other", "red")), rejected: "httproute e2e/second", says: "go together",
			still: both, repair: writes("first.yaml", marked("first", "other", "red")), then: map[string]string{"first": "red", "second": "red"},
		}.run(t, s)
	})
	t.Run("in one file", func(t *testing.T) {
		s.remove(t, "first.yaml")
		s.remove(t, "second.yaml")
		for _, host := range []string{"first", "second"} {
			s.eventually(t, host+" is gone", func(ctx context.Context) error { return s.try(ctx, host+domain, try{status: 404}) })
		}
		s.write(t, "both.yaml", first+"\n---\n"+second)
		s.serves(t, both)
	})
}
