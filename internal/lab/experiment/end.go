package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// noticed is how long it may take to see that a proxy has ended which a call found so: a
// connection is refused before the program has been waited for.
const noticed = 500 * time.Millisecond

// asking wraps a part that talks to the proxy: when it fails because the proxy has ended,
// its error is how that ended.
func (x Experiment) asking(part func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := part(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-x.Proxy.Exited():
			return x.Proxy.Ended()
		case <-ctx.Done():
			return err
		case <-time.After(noticed):
			return err
		}
	}
}

// watch returns an error when something ended that should not have.
func (x Experiment) watch(ctx context.Context) error {
	select {
	case err := <-x.Failed:
		return err
	case <-x.Proxy.Exited():
		return x.Proxy.Ended()
	case <-ctx.Done():
		return nil
	}
}

// unlogged returns an error if the proxy keeps a log of its tries and some requests that
// backends answered are not there: nobody knows how often those were tried.
func unlogged(requests []lab.Request, tries map[uint64]int) error {
	if tries == nil {
		return nil
	}
	answered, missing := 0, 0
	for _, r := range requests {
		if r.Outcome != lab.Answered {
			continue
		}
		if answered++; tries[r.ID] == 0 {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	return fmt.Errorf("its log lacks %d of %d requests that backends answered, so its tries are not counted: ask for a lower rate", missing, answered)
}

// inOneLine joins errors; empty if there are none.
func inOneLine(errs ...error) string {
	if err := errors.Join(errs...); err != nil {
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return ""
}
