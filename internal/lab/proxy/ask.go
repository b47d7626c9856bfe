package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 16 << 20

// Fresh is an HTTP client that opens a connection for every request, so that whoever
// takes new connections answers. A socket makes it ask there; an empty one asks the
// address of the request.
func Fresh(socket string) *http.Client {
	var dialer net.Dialer
	transport := &http.Transport{DisableKeepAlives: true}
	if socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		}
	}
	return &http.Client{Transport: transport}
}

// Get asks for a URL and returns the status and the whole body, whatever the status is.
func Get(ctx context.Context, client *http.Client, url string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return 0, nil, fmt.Errorf("read the answer to %s: %w", url, err)
	}
	return response.StatusCode, body, nil
}

// Answers returns nil once something answers HTTP at ListenAddress, with any status. It
// cannot tell who: a program whose port is busy must be asked in another way too.
func Answers(ctx context.Context) error {
	_, _, err := Get(ctx, Fresh(""), "http://"+ListenAddress+"/")
	return err
}
