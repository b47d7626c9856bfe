// Package health tries the probes of proxies on real sockets: on proxies that work and on
// proxies that lie, from the object and its Secrets to the condition that is written.
package health

import (
	"fmt"
	"os"
	"testing"
)

// TestMain has the system trust the authority of targets, as it does in the Internet.
func TestMain(m *testing.M) {
	file, err := os.CreateTemp("", "targets-*.pem")
	if err == nil {
		_, err = file.Write(targets.pem)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Setenv("SSL_CERT_FILE", file.Name())
	_ = os.Setenv("SSL_CERT_DIR", "/nowhere")
	code := m.Run()
	_ = os.Remove(file.Name())
	os.Exit(code)
}
