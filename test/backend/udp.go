package backend

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// UDP is a running UDP backend: it sends each datagram back with its name and a
// newline before.
type UDP struct {
	Name string
	Addr netip.AddrPort
	conn *net.UDPConn
	done sync.WaitGroup
}

// StartUDP starts a backend on address, for example "127.0.0.1:0".
func StartUDP(ctx context.Context, name, address string) (*UDP, error) {
	packets, err := new(net.ListenConfig).ListenPacket(ctx, "udp", address)
	if err != nil {
		return nil, fmt.Errorf("backend %s: %w", name, err)
	}
	conn := packets.(*net.UDPConn)
	b := &UDP{Name: name, Addr: conn.LocalAddr().(*net.UDPAddr).AddrPort(), conn: conn}
	b.done.Go(b.serve)
	return b, nil
}

// Close ends the backend and waits.
func (b *UDP) Close() error {
	err := b.conn.Close()
	b.done.Wait()
	return err
}

func (b *UDP) serve() {
	datagram := make([]byte, 1<<16)
	for {
		n, from, err := b.conn.ReadFromUDPAddrPort(datagram)
		if err != nil {
			return
		}
		_, _ = b.conn.WriteToUDPAddrPort(append([]byte(b.Name+"\n"), datagram[:n]...), from) // a lost answer is the client's to notice
	}
}
