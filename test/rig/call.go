package rig

import (
	"context"
	"net/netip"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Call makes one unary gRPC call to a port in clear, under a host name, and
// returns what a backend of the rig answers: its name, the method and the marks
// that it saw. Pairs are names and values of metadata. The error is the call's.
func Call(ctx context.Context, port uint16, host, method string, pairs ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+netip.AddrPortFrom(Loopback, port).String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(host))
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	var answer wrapperspb.StringValue
	err = conn.Invoke(metadata.AppendToOutgoingContext(ctx, pairs...), method, wrapperspb.String("hello"), &answer)
	return answer.GetValue(), err
}
