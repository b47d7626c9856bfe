package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	validator_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/validator/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// portion is about how large a request may be, in bytes: what gRPC takes by itself is four times that.
const portion = 1 << 20

// conversation is one stream to a service, which lasts over many candidates. Two
// goroutines of its own speak and listen, so that nobody who waits for them is stuck
// when the service is; end stops them and waits for them.
type conversation struct {
	cancel   context.CancelFunc
	body     func(xdsserve.Resource) ([]byte, error)
	sequence uint64
	say      chan *validator_v1alpha1.Request
	heard    chan *validator_v1alpha1.Response
	broken   chan struct{} // closed when the stream is over, after err is set
	err      error
}

// begin starts a conversation. That it cannot be held shows when it is used.
func begin(ctx context.Context, conn *grpc.ClientConn, body func(xdsserve.Resource) ([]byte, error)) *conversation {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it outlives the verdict that it begins with
	c := &conversation{
		cancel: cancel, body: body,
		say: make(chan *validator_v1alpha1.Request), heard: make(chan *validator_v1alpha1.Response), broken: make(chan struct{}),
	}
	go func() {
		defer close(c.broken)
		defer cancel()
		c.err = c.hold(ctx, conn)
	}()
	return c
}

// hold speaks until ctx or the stream ends.
func (c *conversation) hold(ctx context.Context, conn *grpc.ClientConn) error {
	stream, err := validator_v1alpha1.Judge(ctx, conn, grpc.WaitForReady(false))
	if err != nil {
		return err
	}
	listened := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		listened <- c.listen(ctx, stream)
		cancel()
	}()
	spoken := c.speak(ctx, stream)
	if spoken != nil && !errors.Is(spoken, io.EOF) {
		c.cancel() // the stream, and with it the listener
	}
	if err := <-listened; err != nil { // what the service says goes before how sending failed
		return err
	}
	return spoken
}

func (c *conversation) speak(ctx context.Context, stream grpc.BidiStreamingClient[validator_v1alpha1.Request, validator_v1alpha1.Response]) error {
	for {
		select {
		case r := <-c.say:
			if err := stream.Send(r); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *conversation) listen(ctx context.Context, stream grpc.BidiStreamingClient[validator_v1alpha1.Request, validator_v1alpha1.Response]) error {
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the service ended the conversation")
		}
		if err != nil {
			return err
		}
		select {
		case c.heard <- r:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// over reports whether the stream has ended.
func (c *conversation) over() bool {
	select {
	case <-c.broken:
		return true
	default:
		return false
	}
}

func (c *conversation) end() {
	c.cancel()
	<-c.broken
}

// baseline sends what the service accepted last.
func (c *conversation) baseline(ctx context.Context, of validator.Candidate) error {
	return c.send(ctx, of.Baseline, nil)
}

// judge sends what differs and waits for the verdict.
func (c *conversation) judge(ctx context.Context, of validator.Candidate) (validator.Verdict, error) {
	c.sequence++
	if err := c.send(ctx, slices.Values(of.Delta.Set), of.Delta.Remove); err != nil {
		return validator.Verdict{}, err
	}
	select {
	case r := <-c.heard:
		return c.verdict(r)
	case <-c.broken:
		return validator.Verdict{}, c.err
	case <-ctx.Done():
		return validator.Verdict{}, ctx.Err()
	}
}

// send sends resources in portions.
func (c *conversation) send(ctx context.Context, set iter.Seq[xdsserve.Resource], remove []xdsserve.Scoped) error {
	next, size := &validator_v1alpha1.Request{Sequence: c.sequence, More: true}, 0
	grown := func(by int) error {
		if size += by; size < portion {
			return nil
		}
		full := next
		next, size = &validator_v1alpha1.Request{Sequence: c.sequence, More: true}, 0
		return c.put(ctx, full)
	}
	for _, s := range remove {
		next.Remove = append(next.Remove, nameOf(s))
		if err := grown(len(s.Group) + len(s.Name.Name) + len(s.Type)); err != nil {
			return err
		}
	}
	for r := range set {
		out, err := c.resource(r)
		if err != nil {
			return err
		}
		next.Set = append(next.Set, out)
		if err := grown(len(out.GetBody().GetValue()) + len(r.Name.Name)); err != nil {
			return err
		}
	}
	next.More = false
	return c.put(ctx, next)
}

// put hands a request to the speaker.
func (c *conversation) put(ctx context.Context, r *validator_v1alpha1.Request) error {
	select {
	case c.say <- r:
		return nil
	case early := <-c.heard:
		return fmt.Errorf("it answered %d before it was asked about %d; a service answers each candidate once", early.GetSequence(), r.GetSequence())
	case <-c.broken:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *conversation) resource(r xdsserve.Resource) (*validator_v1alpha1.Resource, error) {
	body, err := c.body(r)
	if err != nil {
		return nil, err
	}
	return &validator_v1alpha1.Resource{
		Name: nameOf(xdsserve.Scoped{Group: r.Group, Name: r.Name}),
		Body: &anypb.Any{TypeUrl: string(r.Type), Value: body}, Origins: r.Origins,
	}, nil
}

func nameOf(s xdsserve.Scoped) *validator_v1alpha1.ResourceName {
	return &validator_v1alpha1.ResourceName{Type: s.Type.Short(), Name: s.Name.Name, Group: s.Group}
}
