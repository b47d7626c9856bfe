package haproxy

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

// What HAProxy could not log is no request with 0 tries: here nobody reads its log.
func TestDroppedLines(t *testing.T) {
	l := proxytest.Start(t, Reload(), proxytest.Options(t, Reload()))
	if _, err := l.Attempts(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := l.Proxy.(*reloaded)
	full, err := new(net.ListenConfig).ListenPacket(t.Context(), "unixgram", filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	text, err := os.ReadFile(r.file())
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("log "+r.log.address()), []byte("log "+full.LocalAddr().String()))
	if err := os.WriteFile(r.file(), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.process.Signal(unix.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	proxytest.Until(t, func(ctx context.Context) error {
		if _, err := l.Ask(ctx); err != nil {
			return err
		}
		_, err := l.Attempts(ctx)
		if err == nil || !strings.HasPrefix(err.Error(), "haproxy has dropped ") || !strings.Contains(err.Error(), " lines of its log") {
			return fmt.Errorf("error %w, want that lines were dropped", err)
		}
		return nil
	})
}
