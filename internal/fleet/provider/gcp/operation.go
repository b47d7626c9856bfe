package gcp

import (
	"context"
	"fmt"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// reader is a provider that may read operations.
type reader struct{ *Provider }

// CreateError implements [provider.CreateOutcome].
func (r reader) CreateError(ctx context.Context, id, operation string) error {
	at, s, err := r.reach(ctx, id)
	if err != nil || !nameForm.MatchString(operation) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	op, err := s.operation(ctx, at, operation)
	if err != nil || op.GetStatus() != computepb.Operation_DONE {
		return nil //nolint:nilerr // that it cannot be read is not how it ended
	}
	if err := operationError(op); err != nil {
		return fmt.Errorf("create %s: %w", at, err)
	}
	return nil
}

func (s *session) operation(ctx context.Context, at location, name string) (*computepb.Operation, error) {
	c, err := compute.NewZoneOperationsRESTClient(ctx, s.options(s.http)...)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	*c.CallOptions = compute.ZoneOperationsCallOptions{}
	op, err := c.Get(ctx, &computepb.GetZoneOperationRequest{Project: at.project, Zone: at.zone, Operation: name})
	return op, s.classify(err, at)
}

var _ provider.CreateOutcome = reader{}
