package xdsserve

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// defaultReceive is the largest request taken: a proxy that reconnects lists all
// names and versions that it has, about 100 bytes each.
const defaultReceive = 64 << 20

// ServerOptions returns what a grpc.Server for a Server needs: the largest
// request in bytes (0 means 64 MiB), and pings that end the stream of a proxy
// that is gone or stuck after 50 s, and with it any blocked send. They suit Unix
// sockets as well as TCP.
func ServerOptions(maxReceive int) []grpc.ServerOption {
	if maxReceive <= 0 {
		maxReceive = defaultReceive
	}
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxReceive),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
}
