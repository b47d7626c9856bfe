package hetzner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// failed gives an error of the API its class, says what was being done, and is one line.
func failed(doing string, err error) error {
	class := provider.ErrTransient
	if e, ok := errors.AsType[hcloud.Error](err); ok {
		class = classOf(e.Code)
		err = hcloud.StabilizeError(err) // without a number that is new each time
	}
	return fmt.Errorf("%w: %s: %s", class, doing, line(err.Error()))
}

func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// classOf says what an error code means. Codes that are not known may go by themselves.
// See docs.hetzner.cloud, "Errors".
func classOf(code hcloud.ErrorCode) error {
	switch code {
	case hcloud.ErrorCodeResourceLimitExceeded, hcloud.ErrorCodeResourceUnavailable, hcloud.ErrorCodePlacementError,
		hcloud.ErrorCodeNoSpaceLeftInLocation, hcloud.ErrorCodeIPNotAvailable:
		return provider.ErrQuotaExceeded
	case hcloud.ErrorCodeUnauthorized, hcloud.ErrorCodeForbidden, hcloud.ErrorCodeInvalidInput, hcloud.ErrorCodeJSONError,
		hcloud.ErrorCodeNotFound, // of what a create refers to
		hcloud.ErrorCodeInvalidServerType, hcloud.ErrorUnsupportedError, hcloud.ErrorDeprecatedAPIEndpoint,
		hcloud.ErrorCodeProtected, hcloud.ErrorCodeResourceLocked:
		return provider.ErrPermanent
	default:
		return provider.ErrTransient
	}
}

// CreateError implements [provider.CreateOutcome]: the operation is the number of the
// action that makes the server.
func (p *Provider) CreateError(ctx context.Context, id, operation string) error {
	at, err := parseID(id)
	if err != nil {
		return nil //nolint:nilerr // none is known
	}
	number, err := strconv.ParseInt(operation, 10, 64)
	if err != nil {
		return nil //nolint:nilerr // none is known
	}
	client, err := p.client(at.project)
	if err != nil {
		return err
	}
	action, _, err := client.Action.GetByID(ctx, number)
	switch {
	case err != nil:
		return failed("look at the creation of server "+id, err)
	case action == nil || action.Status != hcloud.ActionStatusError:
		return nil
	}
	return fmt.Errorf("%w: create server %s: %s (%s)", classOf(hcloud.ErrorCode(action.ErrorCode)), id,
		line(action.ErrorMessage), action.ErrorCode)
}
