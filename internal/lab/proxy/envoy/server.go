package envoy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// serverFeed is an endpoint server as a process.
type serverFeed struct {
	gatehouse string
	log       io.Writer
	process   *proxy.Process
	input     *os.File
}

func newServerFeed(o proxy.Options) *serverFeed {
	return &serverFeed{gatehouse: o.Gatehouse, log: o.Log}
}

func (f *serverFeed) start(ctx context.Context) error {
	input, output, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the endpoint server: %w", err)
	}
	defer input.Close()
	f.input = output
	f.process, err = proxy.Command{
		Name: "the endpoint server (gatehouse " + strings.Join(ServeCommand, " ") + ")",
		Path: f.gatehouse, Args: append(slices.Clone(ServeCommand), serverSocket),
		Input: input, Log: f.log,
	}.Start()
	if err != nil {
		return err
	}
	if err := f.process.Await(ctx, listening); err != nil {
		return err
	}
	return f.update(ctx, nil)
}

func listening(ctx context.Context) error {
	connection, err := new(net.Dialer).DialContext(ctx, "unix", serverSocket)
	if err != nil {
		return err
	}
	return connection.Close()
}

func (f *serverFeed) update(ctx context.Context, addresses []string) error {
	line, err := json.Marshal(change{Addresses: addresses})
	if err != nil {
		return err
	}
	deadline, _ := ctx.Deadline() // the zero time is none
	if err := f.input.SetWriteDeadline(deadline); err != nil {
		return fmt.Errorf("tell the endpoint server: %w", err)
	}
	if _, err := f.input.Write(append(line, '\n')); err != nil {
		return errors.Join(fmt.Errorf("tell the endpoint server: %w", err), f.process.Ended())
	}
	return nil
}

func (f *serverFeed) processes() []*proxy.Process {
	if f.process == nil {
		return nil
	}
	return []*proxy.Process{f.process}
}

func (f *serverFeed) stop(ctx context.Context) error {
	if f.input != nil {
		_ = f.input.Close() // which ends the server, as the signal does
	}
	if f.process == nil {
		return nil
	}
	return f.process.Stop(ctx, unix.SIGTERM)
}
