package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sharedKey(t *testing.T, size int, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(strings.Repeat("k", size)), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCancelPeers(t *testing.T) {
	key := sharedKey(t, 32, 0o440)
	got, err := router([]string{
		oneBackend, "CANCEL_PEERS=peers.db.svc.:7432,10.0.0.7:7433,[::1]:7434",
		"CANCEL_PEER_KEY_FILE=" + key, "CANCEL_ON_DISCONNECT=true",
	}, "cancel-peer-port=0")
	if err != nil {
		t.Fatal(err)
	}
	want := CancelPeers{Addresses: []string{"peers.db.svc.:7432", "10.0.0.7:7433", "[::1]:7434"}, KeyFile: key}
	if diff := cmp.Diff(want, got.Postgres.CancelPeers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !got.Postgres.CancelOnDisconnect {
		t.Error("nothing is cancelled on disconnect")
	}
}

func TestCancelPeersErrors(t *testing.T) {
	const peers = "CANCEL_PEERS=a:1 "
	key := "CANCEL_PEER_KEY_FILE=" + sharedKey(t, 32, 0o400)
	for environ, want := range map[string]string{
		"CANCEL_PEERS=a:1":                                   `--cancel-peer-key-file or $CANCEL_PEER_KEY_FILE: is missing: replicas believe each other by a key`,
		key:                                                  `--cancel-peers or $CANCEL_PEERS: is missing: CANCEL_PEER_KEY_FILE is given; name the replicas`,
		"CANCEL_PEERS=a":                                     `$CANCEL_PEERS: entry "a" must be HOST:PORT`,
		"CANCEL_PEERS=a:0":                                   `$CANCEL_PEERS: entry "a:0" has port "0"; it must be a number from 1 to 65535`,
		"CANCEL_PEERS=a:1,,b:2 " + key:                       `$CANCEL_PEERS: entry "" must be HOST:PORT`,
		"CANCEL_PEERS=a_b:1 " + key:                          `$CANCEL_PEERS: entry "a_b:1" has host "a_b"; it must be a DNS name or the IP address`,
		"CANCEL_PEERS=0.0.0.0:1 " + key:                      `$CANCEL_PEERS: entry "0.0.0.0:1" has host "0.0.0.0"; it must be`,
		"CANCEL_PEER_PORT=7000":                              `$CANCEL_PEER_PORT: "7000" has no effect without CANCEL_PEERS and CANCEL_PEER_KEY_FILE`,
		"CANCEL_PEER_PORT=x":                                 `$CANCEL_PEER_PORT: "x" must be a port from 0 to 65535`,
		"CANCEL_ON_DISCONNECT=maybe":                         `$CANCEL_ON_DISCONNECT: "maybe" must be true or false`,
		peers + key + " CANCEL_PEER_PORT=5432":               `$CANCEL_PEER_PORT: "5432" is also the port for clients or for health`,
		peers + key + " CANCEL_PEER_PORT=8080":               `$CANCEL_PEER_PORT: "8080" is also the port for clients or for health`,
		peers + "CANCEL_PEER_KEY_FILE=/nonexistent":          `$CANCEL_PEER_KEY_FILE: "/nonexistent" cannot be read: no such file or directory; name a file of 32 random bytes`,
		peers + "CANCEL_PEER_KEY_FILE=" + t.TempDir():        `$CANCEL_PEER_KEY_FILE: "`,
		peers + keyFile(sharedKey(t, 33, 0o400)):             `has 33 bytes; it must have 32 random bytes, as of "openssl rand 32"`,
		peers + keyFile(sharedKey(t, 0, 0o400)):              `has 0 bytes; it must have 32`,
		peers + keyFile(sharedKey(t, 65, 0o400)):             `has more than 64 bytes; it must have 32`,
		peers + keyFile(sharedKey(t, 32, 0o444)):             `can be read or written by everybody (mode 0444); take that away, for example with chmod 0440`,
		peers + keyFile(sharedKey(t, 32, 0o402)) + " DEBUG=": `can be read or written by everybody (mode 0402)`,
	} {
		_, err := router(append([]string{oneBackend}, strings.Fields(environ)...))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", environ, err, want)
		}
	}
}

func keyFile(path string) string { return "CANCEL_PEER_KEY_FILE=" + path }
