package session

import (
	"context"
	"errors"
	"net/http"
	"time"

	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// told is what was logged last of the lease API: why it grants nothing, "" if it does.
type told struct {
	code string
	at   time.Time
}

// tellEvery bounds how often a lease API is logged that now does its part and now does not.
const tellEvery = time.Second

// tell logs that the lease API grants nothing to anybody, once, and that it does again.
func (k *Keeper) tell(err error) {
	if errors.Is(err, context.Canceled) { // it was not waited for
		return
	}
	code := broken(err)
	k.mu.Lock()
	news := code != k.api.code && time.Since(k.api.at) >= tellEvery
	if news {
		k.api = told{code, time.Now()}
	}
	k.mu.Unlock()
	switch {
	case !news:
	case code == "":
		k.Log.Info("the lease API grants again", observe.KeyAddress, k.Client.BaseURL)
	default:
		k.Log.Error("the lease API grants nothing: clients without a lease are refused", observe.KeyAddress, k.Client.BaseURL, observe.KeyError, err)
	}
}

// broken is the code of an error that is not about what was asked for.
func broken(err error) string {
	e, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok, errors.Is(err, client.ErrTooManyWaiting):
		return ""
	case e.Status == 0, e.Status >= http.StatusInternalServerError, e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return e.Code
	}
	return ""
}
