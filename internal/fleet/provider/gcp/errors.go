package gcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/api/googleapi"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// errExists means that the name is taken.
var errExists = fmt.Errorf("%w: the name is taken", provider.ErrTransient)

// patience is how long refused credentials may be refused by mistake, of a clock or of
// a key that is being exchanged, before that is permanent.
const patience = 5 * time.Minute

func isNotFound(err error) bool { return errors.Is(err, provider.ErrNotFound) }

// reasons are the words that Google gives errors, of answers and of operations, where
// the status code alone would mislead. They are in cloud.google.com/compute/docs,
// "Troubleshooting API errors" and "Resource availability errors".
var reasons = map[string]error{
	"quotaExceeded": provider.ErrQuotaExceeded, "QUOTA_EXCEEDED": provider.ErrQuotaExceeded,
	"limitExceeded": provider.ErrQuotaExceeded, "LIMIT_EXCEEDED": provider.ErrQuotaExceeded, "dailyLimitExceeded": provider.ErrQuotaExceeded,
	"ZONE_RESOURCE_POOL_EXHAUSTED": provider.ErrQuotaExceeded, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS": provider.ErrQuotaExceeded,
	"RESOURCE_POOL_EXHAUSTED": provider.ErrQuotaExceeded, "REGION_RESOURCE_POOL_EXHAUSTED": provider.ErrQuotaExceeded, "stockout": provider.ErrQuotaExceeded,
	"IP_SPACE_EXHAUSTED": provider.ErrQuotaExceeded, "IP_SPACE_EXHAUSTED_WITH_DETAILS": provider.ErrQuotaExceeded,

	"rateLimitExceeded": provider.ErrTransient, "userRateLimitExceeded": provider.ErrTransient, "RATE_LIMIT_EXCEEDED": provider.ErrTransient,
	"RESOURCE_OPERATION_RATE_EXCEEDED": provider.ErrTransient, "operationRateExceeded": provider.ErrTransient,
	"resourceNotReady": provider.ErrTransient, "RESOURCE_NOT_READY": provider.ErrTransient,
	"resourceInUseByAnotherResource": provider.ErrTransient, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE": provider.ErrTransient,
	"backendError": provider.ErrTransient, "internalError": provider.ErrTransient, "INTERNAL_ERROR": provider.ErrTransient,
	"SERVICE_UNAVAILABLE": provider.ErrTransient, "RESOURCE_ALREADY_EXISTS": provider.ErrTransient,

	"RESOURCE_NOT_FOUND": provider.ErrPermanent, "UNSUPPORTED_OPERATION": provider.ErrPermanent, "INVALID_USAGE": provider.ErrPermanent,
	"INVALID_FIELD_VALUE": provider.ErrPermanent, "CONDITION_NOT_MET": provider.ErrPermanent,
	"PERMISSIONS_ERROR": provider.ErrPermanent, "PERMISSION_DENIED": provider.ErrPermanent, "FORBIDDEN": provider.ErrPermanent,
}

// classify says what an answer means for a request about the instance at. nil is nil.
func (s *session) classify(err error, at location) error {
	if err == nil {
		s.mu.Lock()
		s.refusedSince = time.Time{}
		s.mu.Unlock()
		return nil
	}
	if refused, ok := errors.AsType[*auth.Error](err); ok {
		return s.unauthorized("Google gives no token: " + tokenText(refused))
	}
	answer, ok := errors.AsType[*googleapi.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: no answer in time: %w", provider.ErrTransient, err)
	case !ok:
		return fmt.Errorf("%w: %s", provider.ErrTransient, oneLine(err.Error()))
	case answer.Code == http.StatusUnauthorized:
		return s.unauthorized("Google refuses our credentials: " + oneLine(answer.Message))
	}
	return status(answer, at)
}

// unauthorized is transient at first and permanent when it stays.
func (s *session) unauthorized(text string) error {
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusedSince.IsZero() {
		s.refusedSince = now
	}
	if now.Sub(s.refusedSince) >= patience {
		return fmt.Errorf("%w: %s", provider.ErrPermanent, text)
	}
	return fmt.Errorf("%w: %s", provider.ErrTransient, text)
}

// tokenText leaves out what the token's server was sent.
func tokenText(e *auth.Error) string {
	if e.Response != nil {
		return e.Response.Status
	}
	return "no answer"
}

// status reads an answer's reason first and its code then.
func status(answer *googleapi.Error, at location) error {
	text := describe(answer.Message)
	if noMachines(answer.Message) {
		return fmt.Errorf("%w: ZONE_RESOURCE_POOL_EXHAUSTED: %s", provider.ErrQuotaExceeded, text)
	}
	for _, item := range answer.Errors {
		if class := reasons[item.Reason]; class != nil {
			return fmt.Errorf("%w: %s: %s", class, item.Reason, text)
		}
	}
	switch code := answer.Code; {
	case code == http.StatusConflict && at.name != "" && has(answer, "alreadyExists"):
		return errExists
	case code == http.StatusNotFound && at.name != "" && about(answer.Message, at):
		return provider.ErrNotFound
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusConflict, code >= 500, code < 400:
		return fmt.Errorf("%w: status %d: %s", provider.ErrTransient, code, text)
	}
	return fmt.Errorf("%w: status %d: %s", provider.ErrPermanent, answer.Code, text)
}

func has(answer *googleapi.Error, reason string) bool {
	for _, item := range answer.Errors {
		if item.Reason == reason {
			return true
		}
	}
	return false
}

// about says whether a message is about the very instance, not the project, the zone or
// something else that it needs.
func about(message string, at location) bool { return strings.Contains(message, "'"+at.String()+"'") }

// noMachines finds a lack of machines in answers that give it no reason of its own.
func noMachines(message string) bool {
	return strings.Contains(message, "ZONE_RESOURCE_POOL_EXHAUSTED") || strings.Contains(message, "does not have enough resources available")
}

// operationError is how an operation ended, nil if well. The first error that has a
// class of its own counts.
func operationError(op *computepb.Operation) error {
	failures := op.GetError().GetErrors()
	if len(failures) == 0 {
		if code := op.GetHttpErrorStatusCode(); code >= 400 {
			return status(&googleapi.Error{Code: int(code), Message: op.GetHttpErrorMessage()}, location{})
		}
		return nil
	}
	for _, f := range failures {
		if class := reasons[f.GetCode()]; class != nil {
			return fmt.Errorf("%w: %s: %s", class, f.GetCode(), describe(f.GetMessage()))
		}
	}
	f := failures[0]
	return status(&googleapi.Error{Code: int(op.GetHttpErrorStatusCode()), Message: f.GetCode() + ": " + f.GetMessage()}, location{})
}

var invalidField = regexp.MustCompile(`(?s)^Invalid value for field '([^']+)':`)

// fields are those of a Proxy, by what Google calls them.
var fields = []struct{ words, field string }{
	{"resource.metadata", "spec.cloudInit"},
	{"resource.machineType", "spec.machineType"},
	{"/machineTypes/", "spec.machineType"},
	{"sourceImage", "spec.image"},
	{"/global/images/", "spec.image"},
	{"subnetwork", "spec.network.subnetwork"},
	{"/networks/", "spec.network.network"},
	{"networkInterfaces", "spec.network"},
	{"resource.scheduling", "spec.spot"},
	{"field 'zone'", "spec.zone"},
}

// describe makes a line of a message and begins it with the field that it is about. The
// value of metadata is left out: it has credentials.
func describe(message string) string {
	if found := invalidField.FindStringSubmatch(message); found != nil && strings.Contains(found[1], "metadata") {
		return "spec.cloudInit: Google takes no such value for " + found[1]
	}
	text := oneLine(message)
	for _, f := range fields {
		if strings.Contains(message, f.words) {
			return f.field + ": " + text
		}
	}
	return text
}

// oneLine is a text in printable letters, not too long.
func oneLine(text string) string {
	const most = 400
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError }), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
