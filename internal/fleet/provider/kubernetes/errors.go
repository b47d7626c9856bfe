package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	core_v1 "k8s.io/api/core/v1"
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

// class says what an error of the API server means. A namespace that is missing may
// come, and a token be renewed; rights, policies and what is called invalid stay as they
// are until somebody changes them.
func class(err error) error {
	switch {
	case errors.Is(err, provider.ErrTransient):
		return provider.ErrTransient
	case api_errors.IsForbidden(err):
		return forbidden(err)
	case api_errors.IsInvalid(err), api_errors.IsBadRequest(err), api_errors.IsRequestEntityTooLargeError(err):
		return provider.ErrPermanent
	default:
		return provider.ErrTransient
	}
}

// forbidden tells a ResourceQuota that is used up, and what goes by itself, from other
// reasons to forbid. Of the first and the last the API has no sign but the text. See
// kubernetes.io, "Resource Quotas".
func forbidden(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "exceeded quota"):
		return provider.ErrQuotaExceeded
	case api_errors.HasStatusCause(err, core_v1.NamespaceTerminatingCause),
		strings.Contains(text, "error looking up service account"): // of a namespace just made
		return provider.ErrTransient
	default:
		return provider.ErrPermanent
	}
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
