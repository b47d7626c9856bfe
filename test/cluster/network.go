package cluster

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// bridge is where pods are attached, once there are any; the API server's address for
// them is on it.
const bridge = "pods0"

// network builds the cluster's network in an empty namespace.
func network() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = bridge
	pods0 := &netlink.Bridge{LinkAttrs: attributes}
	if err := netlink.LinkAdd(pods0); err != nil {
		return fmt.Errorf("add the bridge of pods (kernel module bridge): %w", err)
	}
	address, err := netlink.ParseAddr(pods)
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(pods0, address); err != nil {
		return fmt.Errorf("add %s to the bridge: %w", pods, err)
	}
	for _, link := range []netlink.Link{lo, pods0} {
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("bring %s up: %w", link.Attrs().Name, err)
		}
	}
	_, machines, err := net.ParseCIDR(Machines)
	if err != nil {
		return err
	}
	route := &netlink.Route{LinkIndex: lo.Attrs().Index, Dst: machines, Type: unix.RTN_LOCAL, Scope: unix.RT_SCOPE_HOST, Table: unix.RT_TABLE_LOCAL}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("make %s local: %w", Machines, err)
	}
	return nil
}

// forward connects whoever comes from outside with a port of the cluster.
func forward(outside net.Listener, port int) {
	for {
		from, err := outside.Accept()
		if err != nil {
			return
		}
		go join(from.(*net.TCPConn), port)
	}
}

// join passes bytes on until both sides have ended. Where nothing listens, the client
// meets a reset.
func join(from *net.TCPConn, port int) {
	defer func() { _ = from.Close() }()
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // loopback answers at once
	if err != nil {
		_ = from.SetLinger(0)
		return
	}
	to := conn.(*net.TCPConn)
	defer func() { _ = to.Close() }()
	var ways sync.WaitGroup
	ways.Go(func() { pass(to, from) })
	ways.Go(func() { pass(from, to) })
	ways.Wait()
}

// pass copies one direction. A side that breaks breaks the other one too.
func pass(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.SetLinger(0)
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = to.CloseWrite()
}
