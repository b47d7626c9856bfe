package haproxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// socket is the path of a runtime API: a worker's, or the master's, which passes on
// commands that begin with "@!PID ".
type socket string

// maxAnswer bounds what is read of an answer; a server takes about 100 bytes.
const maxAnswer = 4 << 20

// ask sends commands, separated by semicolons, over a connection of their own and
// returns all that is answered.
func (s socket) ask(ctx context.Context, commands string) (string, error) {
	var dialer net.Dialer
	opened, err := dialer.DialContext(ctx, "unix", string(s))
	if err != nil {
		return "", fmt.Errorf("ask haproxy: %w", err)
	}
	connection := opened.(*net.UnixConn)
	defer connection.Close()
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	if _, err := io.WriteString(connection, commands+"\n"); err != nil {
		return "", fmt.Errorf("ask haproxy: %w", err)
	}
	// The master ends its answer only when it knows that no command follows.
	if err := connection.CloseWrite(); err != nil {
		return "", fmt.Errorf("ask haproxy: %w", err)
	}
	answer, err := io.ReadAll(io.LimitReader(connection, maxAnswer))
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("read haproxy's answer to %q: %w", commands, err)
	}
	return string(answer), nil
}

// server is one server of the section, as a worker sees it.
type server struct {
	address netip.Addr
	// serves: it gets requests. Otherwise it is in maintenance, and may be on its way out.
	serves bool
}

// servers returns the servers of a worker, sorted by address. To the master's socket,
// worker is the prefix that names one.
func (s socket) servers(ctx context.Context, worker string) ([]server, error) {
	answer, err := s.ask(ctx, worker+"show servers state "+section)
	if err != nil {
		return nil, err
	}
	return parseServers(answer)
}

// Columns of "show servers state", version 1 (Management Guide, section 9.3).
const (
	columnAddress = 4
	columnState   = 5 // 2 is running
	columnAdmin   = 6 // bits; 0 is no maintenance and no drain
	columnsUsed   = 7
)

func parseServers(answer string) ([]server, error) {
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	if strings.TrimSpace(lines[0]) != "1" {
		return nil, fmt.Errorf("haproxy says %q instead of its servers in format 1", lines[0])
	}
	var servers []server
	for _, line := range lines[1:] {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "#") || len(fields) < columnsUsed {
			continue
		}
		address, err := netip.ParseAddr(fields[columnAddress])
		if err != nil {
			return nil, fmt.Errorf("a server of haproxy has no address: %q", line)
		}
		servers = append(servers, server{address, fields[columnState] == "2" && fields[columnAdmin] == "0"})
	}
	slices.SortFunc(servers, func(a, b server) int { return a.address.Compare(b.address) })
	return servers, nil
}

// serving returns the addresses of the servers that get requests.
func serving(servers []server) []netip.Addr {
	addresses := []netip.Addr{}
	for _, s := range servers {
		if s.serves {
			addresses = append(addresses, s.address)
		}
	}
	return addresses
}
