package e2e

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// deaf returns the address of a name server that drops every packet.
func deaf(t *testing.T) string {
	t.Helper()
	// All of 127.0.0.0/8 is this machine; one address of it for this test.
	address := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	c := must(new(net.ListenConfig).ListenPacket(t.Context(), "udp", net.JoinHostPort(address, "53")))(t)
	t.Cleanup(func() { _ = c.Close() })
	return address
}

// elsewhere returns a program that runs another with a resolv.conf of its own,
// in a mount namespace that goes when it ends.
func elsewhere(t *testing.T, program, resolv string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gatehouse")
	text := fmt.Sprintf("#!/bin/sh\nexec unshare --mount sh -c 'mount --bind %s /etc/resolv.conf && exec %s \"$@\"' gatehouse \"$@\"\n", resolv, program)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
