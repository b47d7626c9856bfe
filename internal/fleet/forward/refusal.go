package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/socks5"
)

// RefusalError is why a client does not get what it asks for, in the words of both
// protocols. Its text is one line of ASCII for the client: it names no address and no
// secret.
type RefusalError struct {
	Status int          // of HTTP
	Kind   string       // error type of RFC 9209, section 2.3
	Reply  socks5.Reply // of SOCKS
	Text   string
}

func (r *RefusalError) Error() string { return r.Text }

// Why the context of a request or a tunnel ended.
var (
	errIdle    = errors.New("nothing has passed for long")
	errExpired = errors.New("the lease has ended")
	errGone    = errors.New("the client has gone")
)

// Refusals that no other error stands for.
var (
	errFull     = &RefusalError{http.StatusServiceUnavailable, "connection_limit_reached", socks5.GeneralFailure, "the proxy serves as many connections as it may"}
	errLoop     = &RefusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "this is a forward proxy: ask for a whole URL, http://HOST/PATH, or use CONNECT"}
	errScheme   = &RefusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "only http: URLs are forwarded; use CONNECT for https"}
	errTarget   = &RefusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, destination.ErrTarget.Error()}
	errUser     = &RefusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "a URL with a user name is not forwarded"}
	errContent  = &RefusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "CONNECT has no content"}
	errProtocol = &RefusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "this port speaks SOCKS version 5"}
	errExpect   = &RefusalError{http.StatusExpectationFailed, "http_request_error", socks5.GeneralFailure, "only 100-continue can be expected"}
	errBroken   = &RefusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "the content of the request cannot be read to its end"}
	errAuth407  = &RefusalError{http.StatusBadGateway, "http_protocol_error", socks5.GeneralFailure, "the target answered 407 as if it were a proxy"}
	errUpgrade  = &RefusalError{http.StatusBadGateway, "http_protocol_error", socks5.GeneralFailure, "the target changed to a protocol that nobody asked for"}
)

// refuse says what a client is told of err.
func refuse(err error) *RefusalError {
	if r, ok := errors.AsType[*RouteError](err); ok {
		return &r.RefusalError
	}
	if r, ok := errors.AsType[*RefusalError](err); ok {
		return r
	}
	for _, known := range refusals {
		if errors.Is(err, known.err) {
			return &known.RefusalError
		}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsTimeout {
			return &RefusalError{http.StatusGatewayTimeout, "dns_timeout", socks5.HostUnreachable, "the look-up of the host took too long"}
		}
		return &RefusalError{http.StatusBadGateway, "dns_error", socks5.HostUnreachable, "the host cannot be looked up"}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return &RefusalError{http.StatusGatewayTimeout, "connection_timeout", socks5.TTLExpired, "the target took too long"}
	}
	return &RefusalError{http.StatusBadGateway, "http_protocol_error", socks5.GeneralFailure, "the target's answer cannot be understood"}
}

// refusals are by error; the first that matches counts.
var refusals = []struct {
	err error
	RefusalError
}{
	{access.ErrNeeded, RefusalError{http.StatusProxyAuthRequired, "http_request_denied", socks5.NotAllowed, access.ErrNeeded.Error()}},
	{access.ErrWrong, RefusalError{http.StatusProxyAuthRequired, "http_request_denied", socks5.NotAllowed, access.ErrWrong.Error()}},
	{access.ErrExpired, RefusalError{http.StatusProxyAuthRequired, "http_request_denied", socks5.NotAllowed, access.ErrExpired.Error()}},
	{access.ErrSource, RefusalError{http.StatusForbidden, "http_request_denied", socks5.NotAllowed, access.ErrSource.Error()}},
	{access.ErrThrottled, RefusalError{http.StatusTooManyRequests, "http_request_denied", socks5.NotAllowed, access.ErrThrottled.Error()}},
	{destination.ErrAddress, RefusalError{http.StatusForbidden, "destination_ip_prohibited", socks5.NotAllowed, destination.ErrAddress.Error()}},
	{destination.ErrPort, RefusalError{http.StatusForbidden, "http_request_denied", socks5.NotAllowed, destination.ErrPort.Error()}},
	{errExpired, RefusalError{http.StatusProxyAuthRequired, "http_request_denied", socks5.NotAllowed, errExpired.Error()}},
	{errIdle, RefusalError{http.StatusGatewayTimeout, "http_response_timeout", socks5.TTLExpired, "the target took too long"}},
	{syscall.ECONNREFUSED, RefusalError{http.StatusBadGateway, "connection_refused", socks5.ConnectionRefused, "the target refuses the connection"}},
	{syscall.ENETUNREACH, RefusalError{http.StatusBadGateway, "destination_ip_unroutable", socks5.NetworkUnreachable, "the target's network cannot be reached"}},
	{syscall.EADDRNOTAVAIL, RefusalError{http.StatusBadGateway, "destination_ip_unroutable", socks5.NetworkUnreachable, "the target's network cannot be reached"}},
	{syscall.EHOSTUNREACH, RefusalError{http.StatusBadGateway, "destination_ip_unroutable", socks5.HostUnreachable, "the target cannot be reached"}},
	{syscall.EMFILE, errFull.copy()},
	{syscall.ENFILE, errFull.copy()},
	{syscall.ECONNRESET, RefusalError{http.StatusBadGateway, "connection_terminated", socks5.GeneralFailure, "the target closed the connection"}},
	{syscall.EPIPE, RefusalError{http.StatusBadGateway, "connection_terminated", socks5.GeneralFailure, "the target closed the connection"}},
	{io.EOF, RefusalError{http.StatusBadGateway, "connection_terminated", socks5.GeneralFailure, "the target closed the connection"}},
	{io.ErrUnexpectedEOF, RefusalError{http.StatusBadGateway, "http_response_incomplete", socks5.GeneralFailure, "the target closed the connection"}},
	{context.DeadlineExceeded, RefusalError{http.StatusGatewayTimeout, "connection_timeout", socks5.TTLExpired, "the target took too long"}},
	{os.ErrDeadlineExceeded, RefusalError{http.StatusGatewayTimeout, "connection_timeout", socks5.TTLExpired, "the target took too long"}},
}

func (r *RefusalError) copy() RefusalError { return *r }
