package envoy

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// ServeCommand are the arguments that make this program an endpoint server; the
// socket follows as one more.
var ServeCommand = []string{"lab", "serve-endpoints"}

// change is one line of what an endpoint server reads.
type change struct {
	// Addresses are all endpoints from now on, each an IP address.
	Addresses []string `json:"addresses"`
}

// ServeEndpoints serves the endpoints of the cluster by delta ADS on a Unix socket
// ("@name" is an abstract one) until updates ends, or ctx does. Each line of updates is
// {"addresses": ["10.0.1.11"]}; until the first one no Envoy gets an answer. What an
// Envoy refuses is told to log, one line each.
func ServeEndpoints(ctx context.Context, socket string, updates io.Reader, log io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listen on the socket for endpoints: %w", err)
	}
	server := xdsserve.New(xdsserve.Options{Observe: func(e xdsserve.Event) { tell(log, e) }})
	ads := grpc.NewServer(xdsserve.ServerOptions(0)...)
	discovery_v3.RegisterAggregatedDiscoveryServiceServer(ads, server)
	ended := make(chan error, 2)
	var serving sync.WaitGroup
	serving.Go(func() { ended <- ads.Serve(listener) })
	go func() { ended <- publishAll(server, updates) }() // ends with the input, or the process
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	server.Close()
	ads.Stop()
	serving.Wait()
	return err
}

// publishAll publishes each line until the input ends.
func publishAll(server *xdsserve.Server, updates io.Reader) error {
	for lines := bufio.NewReader(updates); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the endpoints: %w", err)
		}
		if err := publish(server, line); err != nil {
			return err
		}
	}
}

func publish(server *xdsserve.Server, line []byte) error {
	var c change
	if err := json.Unmarshal(line, &c); err != nil {
		return fmt.Errorf("read the endpoints %q: %w", line, err)
	}
	endpoints, err := assignment(c.Addresses)
	if err != nil {
		return err
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(endpoints)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	server.Publish(xdsserve.Update{Set: []xdsserve.Resource{{
		Name: xdsserve.Name{Type: xdsserve.Endpoints, Name: cluster},
		Body: body, Version: hex.EncodeToString(sum[:8]),
	}}})
	return nil
}

// tell says what should not happen.
func tell(log io.Writer, e xdsserve.Event) {
	if slices.Contains([]xdsserve.EventKind{xdsserve.Refused, xdsserve.Unserved, xdsserve.Unidentified}, e.Kind) {
		fmt.Fprintf(log, "endpoint server: envoy: %s %s %q: %s\n", e.Kind, e.Type.Short(), e.Names, e.Message)
	}
}
