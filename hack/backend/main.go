// Backend runs small servers that say who they are and what reached them, for
// trying routes by hand:
//
//	backend http:storefront=127.0.0.1:9101 tcp:ledger=127.0.0.1:9105
//
// It ends with Ctrl-C.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/gatehouse-proxy/gatehouse/test/backend"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "backend:", err)
		os.Exit(1)
	}
}

func run(specs []string, out io.Writer) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(specs) == 0 {
		return errors.New("name at least one server, such as http:storefront=127.0.0.1:9101")
	}
	for _, spec := range specs {
		server, line, startErr := start(ctx, spec)
		if startErr != nil {
			return errors.Join(err, startErr)
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		fmt.Fprintln(out, line)
	}
	<-ctx.Done()
	return nil
}

// start starts the server that a word such as "tcp:ledger=127.0.0.1:9105" names.
func start(ctx context.Context, spec string) (server io.Closer, line string, err error) {
	protocol, rest, _ := strings.Cut(spec, ":")
	name, address, ok := strings.Cut(rest, "=")
	switch {
	case !ok || name == "":
		return nil, "", fmt.Errorf("%q must be PROTOCOL:NAME=HOST:PORT", spec)
	case protocol == "http":
		b, err := backend.StartHTTP(ctx, name, address)
		if err != nil {
			return nil, "", err
		}
		return b, fmt.Sprintf("%s: http://%s", name, b.Addr), nil
	case protocol == "tcp":
		b, err := backend.StartTCP(ctx, name, address)
		if err != nil {
			return nil, "", err
		}
		return b, fmt.Sprintf("%s: tcp %s", name, b.Addr), nil
	case protocol == "udp":
		b, err := backend.StartUDP(ctx, name, address)
		if err != nil {
			return nil, "", err
		}
		return b, fmt.Sprintf("%s: udp %s", name, b.Addr), nil
	}
	return nil, "", fmt.Errorf("%q has protocol %q; it must be http, tcp or udp", spec, protocol)
}
