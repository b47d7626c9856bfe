package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// failure decides by the class of what a provider refused while it was to do something.
func failure(s *State, doing string, err error) Action {
	if throttled, ok := errors.AsType[*provider.ThrottledError](err); ok {
		return Action{Do: Finish, After: throttled.After}
	}
	return failed(s, s.draft(), doing, err, 0)
}

// failed writes a failure into a draft. With a pause, it is not returned as an error:
// the pause is already of the right length.
func failed(s *State, d draft, doing string, err error, pause time.Duration) Action {
	message := s.withoutSecrets(oneLine("cannot " + doing + ": " + err.Error()))
	d.refused(err, message)
	switch class := provider.Class(err); {
	case errors.Is(class, provider.ErrQuotaExceeded):
		d.p.Status.RetriedAt = retry(d.p)
		return d.waiting(egress_v1alpha1.ReasonQuotaExceeded, message).finish(QuotaRetry)
	case errors.Is(class, provider.ErrPermanent):
		d.p.Status.RetriedAt = retry(d.p)
		return d.waiting(egress_v1alpha1.ReasonPermanentError, message+"; change the spec, or annotation "+egress_v1alpha1.RetryAnnotation+", for another try").finish(0)
	case d.p.Status.ProviderID == "":
		d.waiting(egress_v1alpha1.ReasonTransientError, "cannot "+doing+"; tried again with growing pauses, see lastError")
	}
	if pause > 0 {
		return d.finish(pause)
	}
	return d.fail(fmt.Errorf("%s: cannot %s: %w", object(d.p), doing, err))
}

// refused notes what a provider said. Of transient failures in a row the first stands:
// their texts hold ports and numbers of requests, and each write is an event.
func (d draft) refused(err error, message string) {
	class, last := provider.ClassName(err), d.p.Status.LastError
	if last != nil && last.Class == class && (last.Message == message || class == "Transient") {
		return
	}
	d.p.Status.LastError = &egress_v1alpha1.LastError{Class: class, Message: message, Time: d.now}
}

// withoutSecrets takes out of a provider's text what it should not have said.
func (s *State) withoutSecrets(text string) string {
	if s.Inputs == nil {
		return text
	}
	c := s.Inputs.Request.Credentials
	for _, secret := range []string{c.Password, string(c.LeaseKey)} {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

// oneLine makes a text of any length and shape fit for a condition.
func oneLine(text string) string {
	const most = 1024
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
