package v1alpha1

import (
	"context"

	"google.golang.org/grpc"
)

// ServiceName is the full name of the service.
const ServiceName = "gatehouse.validator.v1alpha1.Validator"

// Server is what a service implements.
type Server interface {
	// Judge serves one conversation until its stream ends.
	Judge(grpc.BidiStreamingServer[Request, Response]) error
}

var judge = grpc.StreamDesc{StreamName: "Judge", ServerStreams: true, ClientStreams: true}

// Register makes a gRPC server serve the service.
func Register(registrar grpc.ServiceRegistrar, s Server) {
	stream := judge
	stream.Handler = func(service any, stream grpc.ServerStream) error {
		return service.(Server).Judge(&grpc.GenericServerStream[Request, Response]{ServerStream: stream})
	}
	registrar.RegisterService(&grpc.ServiceDesc{
		ServiceName: ServiceName, HandlerType: (*Server)(nil), Streams: []grpc.StreamDesc{stream}, Metadata: "validator.proto",
	}, s)
}

// Judge begins a conversation, which ends with ctx.
func Judge(ctx context.Context, conn grpc.ClientConnInterface, o ...grpc.CallOption) (grpc.BidiStreamingClient[Request, Response], error) {
	stream, err := conn.NewStream(ctx, &judge, "/"+ServiceName+"/"+judge.StreamName, o...)
	if err != nil {
		return nil, err
	}
	return &grpc.GenericClientStream[Request, Response]{ClientStream: stream}, nil
}
