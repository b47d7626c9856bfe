package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Talk is an open WebSocket or gRPC stream through a proxy to a backend of the rig,
// which answers each message. It has one user at a time.
type Talk struct {
	say   func(string) (string, error)
	close func() error
}

// Say sends a message and returns the answer without the message: the backend's
// name, the method of a call, and the marks of the request. The error is that of the connection.
func (t *Talk) Say(message string) (string, error) {
	answer, err := t.say(message)
	return strings.TrimSuffix(answer, " "+message), err
}

// Close ends it.
func (t *Talk) Close() error { return t.close() }

// OpenSocket opens a WebSocket to a port in clear, under a host name.
func OpenSocket(ctx context.Context, port uint16, host, path string) (*Talk, error) {
	config, err := websocket.NewConfig("ws://"+host+path, "http://"+host)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", netip.AddrPortFrom(Loopback, port).String())
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	socket, err := websocket.NewClient(config, conn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("WebSocket handshake with %s: %w", host, err), conn.Close())
	}
	return &Talk{close: conn.Close, say: func(message string) (answer string, err error) {
		if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
			return "", err
		}
		if err := websocket.Message.Send(socket, message); err != nil {
			return "", err
		}
		err = websocket.Message.Receive(socket, &answer)
		return answer, err
	}}, nil
}

// OpenCall opens a gRPC call with a stream of messages both ways to a port in
// clear, under a host name. It ends with ctx.
func OpenCall(ctx context.Context, port uint16, host, method string) (*Talk, error) {
	conn, err := grpc.NewClient("passthrough:///"+netip.AddrPortFrom(Loopback, port).String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(host))
	if err != nil {
		return nil, err
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Talk{close: conn.Close, say: func(message string) (string, error) {
		if err := stream.SendMsg(wrapperspb.String(message)); err != nil {
			return "", err
		}
		var answer wrapperspb.StringValue
		err := stream.RecvMsg(&answer)
		return answer.GetValue(), err
	}}, nil
}
