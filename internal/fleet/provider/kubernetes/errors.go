package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	api_errors "k8s.io/apimachinery/pkg/api/errors"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// failed gives an error of the API server its class and says what it was about.
func failed(verb, namespace, name string, err error) error {
	return fmt.Errorf("%w: %s pod %s/%s: %w", class(err), verb, namespace, name, err)
}

// transient hides from [class] what err is.
func transient(err error) error { return fmt.Errorf("%w: %w", provider.ErrTransient, err) }

// class says what an error of the API server means. Rights that are missing may be
// given, and a namespace that is missing may come: only what the API server calls
// invalid, or too large to be read, stays refused.
func class(err error) error {
	switch {
	case errors.Is(err, provider.ErrTransient):
		return provider.ErrTransient
	case overQuota(err):
		return provider.ErrQuotaExceeded
	case api_errors.IsInvalid(err), api_errors.IsBadRequest(err), api_errors.IsRequestEntityTooLargeError(err):
		return provider.ErrPermanent
	default:
		return provider.ErrTransient
	}
}

// overQuota tells a ResourceQuota that is used up from other reasons for Forbidden. The
// API has no other sign of it than the text. See kubernetes.io, "Resource Quotas".
func overQuota(err error) bool {
	return api_errors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// gone tells whether the API server itself said that this pod does not exist. A 404 of
// something in between, or of an API that is not served, is no such word.
func gone(err error, name string) bool {
	status, ok := errors.AsType[*api_errors.StatusError](err)
	if !ok || !api_errors.IsNotFound(err) {
		return false
	}
	details := status.ErrStatus.Details
	return details != nil && details.Kind == "pods" && details.Name == name &&
		!slices.ContainsFunc(details.Causes, func(c meta_v1.StatusCause) bool {
			return c.Type == meta_v1.CauseTypeUnexpectedServerResponse
		})
}
