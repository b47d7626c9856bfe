package host

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// UDPBound returns nil if a process of this machine has a UDP socket bound to an
// address, or to every address of its family. A datagram could not tell: nobody need
// answer it, and a backend would get it.
func UDPBound(address netip.AddrPort) error {
	for _, table := range []string{"/proc/net/udp", "/proc/net/udp6"} {
		found, err := inSocketTable(table, address)
		if found || err != nil {
			return err
		}
	}
	return fmt.Errorf("no socket is bound to udp %s", address)
}

func inSocketTable(path string, address netip.AddrPort) (bool, error) {
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil // a kernel without IPv6
	case err != nil:
		return false, fmt.Errorf("read the table of UDP sockets: %w", err)
	}
	defer file.Close()
	found, err := findSocket(file, address)
	if err != nil {
		return false, fmt.Errorf("read the table of UDP sockets %s: %w", path, err)
	}
	return found, nil
}

// findSocket looks for a socket that nobody is connected to, in the form of
// /proc/net/udp; see proc_net(5).
func findSocket(table io.Reader, address netip.AddrPort) (bool, error) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			continue
		}
		local, err := parseSocket(fields[1])
		if err != nil {
			continue // the heading
		}
		remote, err := parseSocket(fields[2])
		if err == nil && remote.Port() == 0 && takes(local, address) {
			return true, nil
		}
	}
	return false, lines.Err()
}

// takes tells whether a socket gets what is sent to an address. One of every IPv6
// address takes IPv4 too where Gatehouse has it bound.
func takes(local, address netip.AddrPort) bool {
	at := local.Addr()
	return local.Port() == address.Port() &&
		(at == address.Addr() || at.IsUnspecified() && (at.Is6() || address.Addr().Is4()))
}

// parseSocket reads "0100007F:0035": 32-bit words in the machine's order of bytes.
func parseSocket(text string) (netip.AddrPort, error) {
	words, number, _ := strings.Cut(text, ":")
	port, err := strconv.ParseUint(number, 16, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	raw, err := hex.DecodeString(words)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	address, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", text)
	}
	return netip.AddrPortFrom(address.Unmap(), uint16(port)), nil
}
