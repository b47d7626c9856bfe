package gcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Create implements [provider.Provider].
func (p *Provider) Create(ctx context.Context, r provider.CreateRequest) (provider.Instance, error) {
	used := p.account
	if used.digest == "" && r.Config != nil {
		var err error
		if used, err = parseConfig(r.Config, p.o); err != nil {
			return provider.Instance{}, err
		}
	}
	request, err := buildInsertRequest(r, used.project, p.o.Now())
	if err != nil {
		return provider.Instance{}, err
	}
	p.use(used)
	s, err := p.session(ctx, used)
	if err != nil {
		return provider.Instance{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	out, err := s.create(ctx, request)
	if err != nil {
		at := location{used.project, r.Zone, r.Name}
		return provider.Instance{}, fmt.Errorf("create %s: %w", at, withoutSecrets(err, r))
	}
	return out, nil
}

// mostRepeats is how many creates of one instance there can be within the window.
const mostRepeats = 8

// create asks until it is not taken for a repeat of a create that has ended: its
// instance may be gone, or may never have come to be. What ended gives the next request
// its ID, so that it is the same for whoever asks again, also after a crash.
func (s *session) create(ctx context.Context, r *computepb.InsertInstanceRequest) (provider.Instance, error) {
	var ended error
	for range mostRepeats {
		op, err := s.insert(ctx, r)
		switch {
		case errors.Is(err, errExists):
			return s.adopt(ctx, r)
		case err != nil:
			return provider.Instance{}, err
		case op.GetStatus() != computepb.Operation_DONE && op.GetError() == nil:
			return accepted(r, op), nil
		}
		if ended = operationError(op); ended == nil {
			out, err := s.adopt(ctx, r)
			if !errors.Is(err, errGoing) {
				return out, err
			}
			ended = fmt.Errorf("%w: taken for a repeat of creates whose instances are gone", provider.ErrTransient)
		}
		r.RequestId = new(following(r.GetRequestId(), op.GetName()))
	}
	return provider.Instance{}, ended
}

// accepted is an instance that will be.
func accepted(r *computepb.InsertInstanceRequest, op *computepb.Operation) provider.Instance {
	out := seen(r.GetProject(), r.GetInstanceResource())
	out.ID = location{r.GetProject(), r.GetZone(), out.Name}.String()
	out.State, out.Operation, out.Detail = provider.Provisioning, op.GetName(), ""
	out.CreatedAt, _ = time.Parse(time.RFC3339, op.GetInsertTime())
	return out
}

// errGoing means that the name is taken, and not by an instance.
var errGoing = fmt.Errorf("%w: the name is taken by something that is going, such as the disk of the last instance", provider.ErrTransient)

// adopt looks at the instance that has the name: ours is what was asked for, unless it
// is going.
func (s *session) adopt(ctx context.Context, r *computepb.InsertInstanceRequest) (provider.Instance, error) {
	it, err := s.get(ctx, location{r.GetProject(), r.GetZone(), r.GetInstanceResource().GetName()})
	if isNotFound(err) {
		return provider.Instance{}, errGoing
	}
	if err != nil {
		return provider.Instance{}, err
	}
	want, have := seen(r.GetProject(), r.GetInstanceResource()), seen(r.GetProject(), it)
	switch {
	case have.UID != want.UID || have.Cluster != want.Cluster:
		return provider.Instance{}, fmt.Errorf("%w: an instance of this name exists and is not ours: it has not the labels of this Proxy", provider.ErrPermanent)
	case have.State == provider.Terminating:
		return provider.Instance{}, fmt.Errorf("%w: the last instance of this name is still being deleted", provider.ErrTransient)
	}
	return have, nil
}

// secretsError says what another one says, without what is secret of a request.
type secretsError struct {
	err  error
	text string
}

func (e *secretsError) Error() string { return e.text }
func (e *secretsError) Unwrap() error { return e.err }

// withoutSecrets removes what Google may repeat of the request.
func withoutSecrets(err error, r provider.CreateRequest) error {
	text := err.Error()
	for _, secret := range []string{string(r.UserData), encoded(r.UserData), r.Credentials.Password, string(r.Credentials.LeaseKey), string(r.Credentials.TLSKey)} {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return &secretsError{err: err, text: text}
}
