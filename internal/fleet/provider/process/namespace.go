package process

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// inner is the end of the cable that an instance has.
const inner = "egress0"

// namespace starts the process of an instance in a network namespace that ends with it:
// it has no name, and nothing but the process holds it. The cable, one end of which is
// there, ends with it too.
func (p *Provider) namespace(i *instance, start func() (int, error)) (pid int, err error) {
	made, furnished, started := make(chan *os.File, 1), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(started)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err = unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = p.enter(i, made, furnished)
		} else {
			err = fmt.Errorf("make a network namespace: %w", err)
		}
		close(made)
		if err == nil {
			pid, err = start()
		}
	}()
	if space, ok := <-made; ok {
		furnished <- plug(i, space)
		_ = space.Close()
	}
	<-started
	return pid, err
}

// enter waits for the cable, and makes this thread's namespace a place to live in.
func (p *Provider) enter(i *instance, made chan<- *os.File, furnished <-chan error) error {
	space, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	made <- space
	if err := <-furnished; err != nil {
		return err
	}
	if err := p.cut("plugged"); err != nil {
		return err
	}
	return furnish(i)
}

// plug lays the cable between a namespace and the bridge.
func plug(i *instance, space *os.File) error {
	master, err := netlink.LinkByName(i.Bridge)
	if err != nil {
		return fmt.Errorf("find the bridge %s: %w", i.Bridge, err)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MasterIndex = i.Cable, master.Attrs().Index
	cable := &netlink.Veth{LinkAttrs: attributes, PeerName: inner, PeerNamespace: netlink.NsFd(space.Fd())}
	if err := netlink.LinkAdd(cable); err != nil {
		return fmt.Errorf("add a virtual cable (kernel module veth): %w", err)
	}
	if err := netlink.LinkSetAlias(cable, i.Name); err != nil {
		return fmt.Errorf("name %s: %w", i.Cable, err)
	}
	if err := netlink.LinkSetUp(cable); err != nil {
		return fmt.Errorf("bring %s up: %w", i.Cable, err)
	}
	return nil
}

// unplug removes a link, if it is there.
func unplug(name string) error {
	if name == "" {
		return nil
	}
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if _, none := errors.AsType[netlink.LinkNotFoundError](err); none || errors.Is(err, unix.ENODEV) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// furnish gives this thread's namespace the address of an instance and the way out.
func furnish(i *instance) error {
	b := bridge{Name: i.Bridge, Prefix: i.Network}
	for _, end := range []struct {
		name    string
		address netip.Addr
	}{{name: "lo"}, {inner, i.Address}} {
		link, err := netlink.LinkByName(end.name)
		if err != nil {
			return fmt.Errorf("find %s: %w", end.name, err)
		}
		if end.address.IsValid() {
			if err := netlink.AddrAdd(link, address(end.address, b.Prefix)); err != nil {
				return fmt.Errorf("add %s to %s: %w", end.address, end.name, err)
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("bring %s up: %w", end.name, err)
		}
	}
	if err := netlink.RouteAdd(&netlink.Route{Gw: b.gateway().AsSlice()}); err != nil {
		return fmt.Errorf("add the way out through %s: %w", b.gateway(), err)
	}
	return nil
}
