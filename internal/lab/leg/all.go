package leg

import (
	"context"
	"io"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// RunAll runs all orders side by side, at one time: each leg begins when all are ready.
// It calls began at that moment. What fails in a leg is part of its result, and holds
// back no other. When ctx ends, so do all legs, and the error is its cause.
func RunAll(ctx context.Context, orders []Order, log io.Writer, began func()) ([]lab.Proxy, error) {
	results := make([]lab.Proxy, len(orders))
	legs := make([]*Leg, len(orders))
	each := func(do func(i int) error) {
		var wg sync.WaitGroup
		for i := range orders {
			if results[i].Failed != "" {
				continue
			}
			wg.Go(func() {
				if err := do(i); err != nil {
					results[i] = lab.Proxy{Name: orders[i].Plan.Name, Model: orders[i].Plan.Model, Failed: err.Error()}
				}
			})
		}
		wg.Wait()
	}
	defer func() {
		for _, l := range legs {
			if l != nil {
				l.Close()
			}
		}
	}()
	log = &lockedWriter{to: log}
	each(func(i int) (err error) {
		if legs[i], err = Start(ctx, orders[i], log); err != nil {
			return err
		}
		return legs[i].Ready()
	})
	began()
	each(func(i int) (err error) {
		if err := legs[i].Go(); err != nil {
			return err
		}
		results[i], err = legs[i].Result()
		return err
	})
	return results, context.Cause(ctx)
}

// lockedWriter lets several legs write whole chunks to one log.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(text)
}
