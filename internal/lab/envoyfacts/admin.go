// Package envoyfacts learns from an Envoy what it believes and what it did: it turns
// the page /clusters of the admin interface into addresses, and an access log into how
// often each request was tried.
//
// The admin interface answers from Envoy's main thread, which hands changes to the
// workers right after it has made them; what it says is ahead of a worker by as long as
// the worker is busy with what it does. Every call blocks until Envoy answers or its
// context ends, and changes nothing in Envoy.
package envoyfacts

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// maxPage bounds what is read of an answer: a host takes about 800 bytes.
const maxPage = 16 << 20

// Admin is the admin interface of one Envoy. It keeps its connection: opening one
// costs Envoy as much as an answer.
type Admin struct {
	socket string
	client *http.Client
}

// NewAdmin returns the admin interface at a Unix socket; "@name" is an abstract one. It
// connects when it is asked something.
func NewAdmin(socket string) *Admin {
	var dialer net.Dialer
	return &Admin{socket: socket, client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
		DisableCompression: true,
	}}}
}

// Close closes the connection.
func (a *Admin) Close() { a.client.CloseIdleConnections() }

// Live returns nil once Envoy serves what it was started with.
func (a *Admin) Live(ctx context.Context) error {
	_, err := a.get(ctx, "/ready")
	return err
}

func (a *Admin) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://envoy"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask envoy through %s: %w", a.socket, err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(io.LimitReader(response.Body, maxPage))
	if err != nil {
		return nil, fmt.Errorf("read envoy's answer to %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("envoy answers %s to %s", response.Status, path)
	}
	return page, nil
}
