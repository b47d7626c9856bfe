package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// source is where the files of the shop are, from the repository's root.
const source = "examples/shop"

// host is the name that every route of the shop answers to.
const host = "shop.example"

// Ports as they stand in the files of the shop.
const (
	httpPort  uint16 = 8080
	httpsPort uint16 = 8443
	tcpPort   uint16 = 9000
)

// backends of the shop by the port that stands in its files; the last is TCP.
var backends = []struct {
	name string
	port uint16
}{{"storefront", 9101}, {"checkout", 9102}, {"checkout-canary", 9103}, {"catalog", 9104}, {"ledger", 9105}}

// shop is a running copy of examples/shop.
type shop struct {
	dir string
	// ports are what is really listened on, by the port that stands in the files.
	ports   map[uint16]uint16
	cert    tlsutil.Pair
	closers []func() error
}

// open copies the shop to dir, with free ports where wanted or needed, and starts its backends.
func open(ctx context.Context, dir string, allFree bool) (*shop, error) {
	s := &shop{dir: dir, ports: make(map[uint16]uint16)}
	err := errors.Join(s.choosePorts(ctx, allFree), s.makeCertificate())
	if err == nil {
		err = errors.Join(s.copyFiles(), s.startBackends(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *shop) choosePorts(ctx context.Context, allFree bool) error {
	wanted := []uint16{httpPort, httpsPort, tcpPort}
	for _, b := range backends {
		wanted = append(wanted, b.port)
	}
	for _, port := range wanted {
		s.ports[port] = port
		if !allFree && !rig.Busy(ctx, port) {
			continue
		}
		free, err := rig.FreePort(ctx)
		if err != nil {
			return err
		}
		s.ports[port] = free
	}
	return nil
}

// moved yields the ports that are not as in the files.
func (s *shop) moved(yield func(from, to uint16) bool) {
	for from, to := range s.ports {
		if from != to && !yield(from, to) {
			return
		}
	}
}

func (s *shop) makeCertificate() (err error) {
	s.cert, err = tlsutil.SelfSigned(tlsutil.From(time.Now().Add(-time.Hour), 30*24*time.Hour), host)
	return err
}

var portField = regexp.MustCompile(`\b(port|number): (\d+)\b`)

// place writes the ports that are really used into a file of the shop.
func (s *shop) place(text []byte) []byte {
	return portField.ReplaceAllFunc(text, func(field []byte) []byte {
		parts := portField.FindSubmatch(field)
		port, _ := strconv.ParseUint(string(parts[2]), 10, 16)
		if to, ok := s.ports[uint16(port)]; ok {
			return fmt.Appendf(nil, "%s: %d", parts[1], to)
		}
		return field
	})
}

func (s *shop) copyFiles() error {
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { return os.RemoveAll(s.dir) })
	files, err := fs.Glob(os.DirFS(source), "*.yaml")
	if err == nil && len(files) == 0 {
		err = errors.New(source + " has no files: run from the repository's root")
	}
	for _, name := range files {
		text, readErr := os.ReadFile(filepath.Join(source, name))
		err = errors.Join(err, readErr, s.write(name, string(s.place(text))))
	}
	return errors.Join(err, s.write("tls.yaml", s.secret()))
}

// write replaces a file of the copy in one step, as most editors do.
func (s *shop) write(name, text string) error {
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (s *shop) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	return string(text), err
}

func (s *shop) secret() string {
	return fmt.Sprintf(`# Made for this run of the demo; worth nothing anywhere else.
apiVersion: v1
kind: Secret
metadata:
  name: shop-tls
  namespace: shop
type: kubernetes.io/tls
data:
  tls.crt: %s
  tls.key: %s
`, base64.StdEncoding.EncodeToString(s.cert.Cert), base64.StdEncoding.EncodeToString(s.cert.Key))
}

func (s *shop) startBackends(ctx context.Context) error {
	for _, b := range backends {
		address := fmt.Sprintf("%s:%d", rig.Loopback, s.ports[b.port])
		if b.name == "ledger" {
			tcp, err := backend.StartTCP(ctx, b.name, address)
			if err != nil {
				return err
			}
			s.closers = append(s.closers, tcp.Close)
			continue
		}
		http, err := backend.StartHTTP(ctx, b.name, address)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, http.Close)
	}
	return nil
}

// close ends the backends and removes the copy, in reverse order.
func (s *shop) close() error {
	var errs []error
	for _, end := range slices.Backward(s.closers) {
		errs = append(errs, end())
	}
	s.closers = nil
	return errors.Join(errs...)
}
