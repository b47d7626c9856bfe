package health

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// tunnel asks an HTTP proxy for one to the target.
func (a *attempt) tunnel(h *hop) error {
	a.stage = tunnelling
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: a.address}, Host: a.address, Header: header()}
	a.authorize(r)
	resp, err := exchange(h, r, r.Write) //nolint:bodyclose // the connection is closed; closing the body would read it to its end
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return a.refused()
	case resp.StatusCode/100 != 2:
		return found(ConnectStatus, "answered CONNECT with %d", resp.StatusCode)
	}
	return nil
}

func (a *attempt) authorize(r *http.Request) {
	if a.proxy.Login != nil {
		r.Header.Set("Proxy-Authorization", "Basic "+a.basic())
	}
}

// refused says that the proxy wants other credentials.
func (a *attempt) refused() error {
	if a.proxy.Login == nil {
		return found(AuthFailed, "it asks for credentials (407), and spec.auth names none")
	}
	return found(AuthFailed, "it refuses the credentials of spec.auth (407)")
}

// exchange sends a request and reads the head of the answer, after those that only
// announce one.
func exchange(h *hop, r *http.Request, write func(io.Writer) error) (*http.Response, error) {
	w := bufio.NewWriterSize(h.Conn, 1024)
	if err := write(w); err != nil {
		return nil, err //nolint:wrapcheck // Probe names the stage
	}
	if err := w.Flush(); err != nil {
		return nil, err //nolint:wrapcheck // Probe names the stage
	}
	for {
		resp, err := http.ReadResponse(h.r, r)
		if h.full { // whatever was made of what could be read
			return nil, errTooLong
		}
		if err != nil || resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, err //nolint:wrapcheck // Probe names the stage
		}
	}
}

// ask gets the URL, from a proxy by its whole form, or from the target.
func (a *attempt) ask(h *hop, whole bool) error {
	a.stage = asking
	r := &http.Request{Method: http.MethodGet, URL: a.target, Host: a.target.Host, Header: header(), Close: true}
	write := r.Write
	if whole {
		a.authorize(r)
		write = r.WriteProxy
	}
	resp, err := exchange(h, r, write) //nolint:bodyclose // as above
	switch {
	case err != nil:
		return err
	case a.expected(resp.StatusCode):
	case whole && resp.StatusCode == http.StatusProxyAuthRequired:
		return a.refused()
	default:
		return found(BadStatus, "answered %d, not %s", resp.StatusCode, a.proxy.Check.wanted())
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err //nolint:wrapcheck // Probe names the stage
	}
	return a.verify(string(body))
}

func (a *attempt) expected(status int) bool {
	if len(a.proxy.Check.ExpectedStatus) == 0 {
		return status >= 200 && status <= 299
	}
	return slices.Contains(a.proxy.Check.ExpectedStatus, status)
}

// wanted are the codes that are well, for people.
func (c *Check) wanted() string {
	if len(c.ExpectedStatus) == 0 {
		return "200 to 299"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(c.ExpectedStatus), "[]"), " ", ", ")
}

// verify compares the address that the target saw with the one that it must see.
func (a *attempt) verify(body string) error {
	if !a.proxy.Check.VerifyEgress {
		return nil
	}
	seen, err := netip.ParseAddr(strings.TrimSpace(body))
	if err != nil {
		return found(WrongEgress, "the answer is no address, which healthCheck.verifyEgressIP needs")
	}
	a.seen = seen.Unmap().WithZone("")
	if want := a.proxy.Egress; want.IsValid() && a.seen != want.Unmap() {
		return found(WrongEgress, "the target saw %s, not %s", a.seen, want.Unmap())
	}
	return nil
}
