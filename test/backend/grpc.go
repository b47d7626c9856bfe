package backend

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpc_status "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// GRPC is a running gRPC backend. It answers every method of every service, one
// answer for each message, with its name, the method and the marks that it saw.
type GRPC struct {
	Name   string
	Addr   netip.AddrPort
	server *grpc.Server
	done   sync.WaitGroup
}

// StartGRPC starts a backend on address, for example "127.0.0.1:0".
func StartGRPC(ctx context.Context, name, address string) (*GRPC, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("backend %s: %w", name, err)
	}
	b := &GRPC{Name: name, Addr: addrPort(l)}
	b.server = grpc.NewServer(grpc.UnknownServiceHandler(b.answer))
	b.done.Go(func() { _ = b.server.Serve(l) })
	return b, nil
}

// Close ends the backend at once, with open calls, and waits.
func (b *GRPC) Close() error {
	b.server.Stop()
	b.done.Wait()
	return nil
}

func (b *GRPC) answer(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	sent, _ := metadata.FromIncomingContext(stream.Context())
	for {
		var question wrapperspb.StringValue
		if err := stream.RecvMsg(&question); err != nil {
			return nil //nolint:nilerr // the client has said all
		}
		if question.GetValue() == "fail" {
			return grpc_status.Error(codes.FailedPrecondition, b.Name)
		}
		words := append([]string{b.Name, method}, sent.Get(MarkHeader)...)
		if err := stream.SendMsg(wrapperspb.String(strings.Join(words, " "))); err != nil {
			return err
		}
	}
}
