package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Inside calls f in the cluster's network, on a thread that has no other work: sockets
// that f opens by itself, and processes that it starts, belong to that network and stay
// there. What goroutines of f do does not. Addresses must be numbers.
func (c *Cluster) Inside(f func() error) (err error) {
	there, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", c.cmd.Process.Pid))
	if err != nil {
		return fmt.Errorf("find the cluster's network: %w", err)
	}
	defer func() { _ = there.Close() }()
	here, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer func() { _ = here.Close() }()
	runtime.LockOSThread()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter the cluster's network: %w (run as root)", err)
	}
	defer func() {
		if back := unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); back != nil {
			err = fmt.Errorf("leave the cluster's network: %w", back)
			return // the thread stays locked and ends with its goroutine
		}
		runtime.UnlockOSThread()
	}()
	return f()
}

// Listen listens in the cluster's network, for example at "10.98.0.7:5432".
func (c *Cluster) Listen(ctx context.Context, address string) (l net.Listener, err error) {
	err = c.Inside(func() error {
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", address)
		return err
	})
	return l, err
}

// Dial connects from the cluster's network.
func (c *Cluster) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = c.Inside(func() error {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// InClusterAddress is where the API server is met from inside, as pods are told by
// KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.
func (c *Cluster) InClusterAddress() (host string, port int) { return advertise, c.Port }
