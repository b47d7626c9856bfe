// Package remote judges candidates by a gRPC service of the operator's: it turns what
// differs into requests of one long conversation, and the service's answers into
// verdicts. A conversation that breaks, or whose service does not keep to the protocol,
// gives no verdict; the next candidate begins another with the baseline. It blocks as
// long as its time limit allows, and never sees objects.
package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// maxAnswer bounds one answer, in bytes.
const maxAnswer = 1 << 20

// maxPause is how soon, at the latest, a service that is back is found.
const maxPause = 2 * time.Second

// Options describe one service.
type Options struct {
	// Name is how operators know it.
	Name string
	// Address is "unix:///PATH" or "HOST:PORT".
	Address string
	// TLS is how the service is verified; nil means that it is on this machine and
	// spoken to in the clear.
	TLS *tls.Config
	// Timeout bounds one verdict, a baseline that goes before it included.
	Timeout time.Duration
	// Types are the resource types that it judges; none means all but endpoints.
	Types []xdsserve.Type
	// Body is the body of a resource as the service may see it.
	Body func(xdsserve.Resource) ([]byte, error)
}

// Validator is a service that judges.
type Validator struct {
	Options
	conn *grpc.ClientConn
	talk *conversation // nil where none goes on
}

var _ validator.Validator = (*Validator)(nil)

// New returns a Validator that connects when it is asked first.
func New(o Options) (*Validator, error) {
	secured := insecure.NewCredentials()
	if o.TLS != nil {
		secured = credentials.NewTLS(o.TLS)
	}
	target := o.Address
	if !strings.HasPrefix(target, "unix:") {
		target = "dns:///" + target
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(secured), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: maxPause}}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("validator %s: address %q: %w", o.Name, o.Address, err)
	}
	return &Validator{Options: o, conn: conn}, nil
}

// Close ends the conversation and the connection. Nobody asks afterwards.
func (v *Validator) Close() error {
	v.hangUp()
	return v.conn.Close()
}

// Name is how operators know it.
func (v *Validator) Name() string { return v.Options.Name }

// Judges reports whether a change of a type needs its verdict.
func (v *Validator) Judges(t xdsserve.Type) bool {
	if len(v.Types) == 0 {
		return t != xdsserve.Endpoints
	}
	return slices.Contains(v.Types, t)
}

// Validate asks the service about a candidate. Where there is no verdict, the
// conversation is over: nobody knows what the service made of the candidate.
func (v *Validator) Validate(ctx context.Context, c validator.Candidate) validator.Verdict {
	limited, cancel := context.WithTimeout(ctx, v.Timeout)
	defer cancel()
	said, err := v.ask(limited, c)
	if err != nil {
		v.hangUp()
		return validator.Verdict{Unavailable: v.why(ctx, limited, err)}
	}
	return said
}

func (v *Validator) ask(ctx context.Context, c validator.Candidate) (validator.Verdict, error) {
	if v.talk != nil && v.talk.over() {
		v.hangUp()
	}
	if v.talk == nil {
		v.talk = begin(ctx, v.conn, v.Body)
		if err := v.talk.baseline(ctx, c); err != nil {
			return validator.Verdict{}, err
		}
	}
	return v.talk.judge(ctx, c)
}

func (v *Validator) hangUp() {
	if v.talk != nil {
		v.talk.end()
		v.talk = nil
	}
}

// why says in one line what kept the service from a verdict.
func (v *Validator) why(asked, limited context.Context, err error) string {
	switch {
	case asked.Err() != nil:
		return "no longer asked: " + asked.Err().Error()
	case limited.Err() != nil:
		return fmt.Sprintf("%s gave no verdict within %s", v.Address, v.Timeout)
	}
	if s, ok := status.FromError(err); ok {
		err = errors.New(s.Code().String() + ": " + s.Message())
	}
	return v.Address + ": " + line(err.Error())
}
