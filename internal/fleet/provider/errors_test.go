package provider

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestClass(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"nil":      {nil, nil},
		"wrapped":  {fmt.Errorf("get px-1: %w", ErrNotFound), ErrNotFound},
		"quota":    {fmt.Errorf("%w: 5 of 5 addresses", ErrQuotaExceeded), ErrQuotaExceeded},
		"other":    {errors.New("connection refused"), ErrTransient},
		"throttle": {&ThrottledError{}, ErrTransient},
		"partial":  {&PartialError{Scopes: []string{"zones/a"}, Err: errors.New("unreachable")}, ErrTransient},
		"canceled": {fmt.Errorf("%w: %w", ErrPermanent, context.Canceled), ErrTransient},
	} {
		if got := Class(c.err); !errors.Is(got, c.want) {
			t.Errorf("%s: class %v, want %v", name, got, c.want)
		}
	}
}
