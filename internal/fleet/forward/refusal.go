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

// refusalError is why a client does not get what it asks for, in the words of both
// protocols. Its text is for the client: it names no address and no secret.
type refusalError struct {
	status int          // of HTTP
	kind   string       // error type of RFC 9209, section 2.3
	reply  socks5.Reply // of SOCKS
	text   string
}

func (r *refusalError) Error() string { return r.text }

// Why the context of a request or a tunnel ended.
var (
	errIdle    = errors.New("nothing has passed for long")
	errExpired = errors.New("the lease has ended")
	errGone    = errors.New("the client has gone")
)

// Refusals that no other error stands for.
var (
	errFull     = &refusalError{http.StatusServiceUnavailable, "connection_limit_reached", socks5.GeneralFailure, "the proxy serves as many connections as it may"}
	errLoop     = &refusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "this is a forward proxy: ask for a whole URL, http://HOST/PATH, or use CONNECT"}
	errScheme   = &refusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "only http: URLs are forwarded; use CONNECT for https"}
	errTarget   = &refusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, destination.ErrTarget.Error()}
	errUser     = &refusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "a URL with a user name is not forwarded"}
	errContent  = &refusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "CONNECT has no content"}
	errProtocol = &refusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "this port speaks SOCKS version 5"}
	errExpect   = &refusalError{http.StatusExpectationFailed, "http_request_error", socks5.GeneralFailure, "only 100-continue can be expected"}
	errBroken   = &refusalError{http.StatusBadRequest, "http_request_error", socks5.GeneralFailure, "the content of the request cannot be read to its end"}
	errAuth407  = &refusalError{http.StatusBadGateway, "http_protocol_error", socks5.GeneralFailure, "the target answered 407 as if it were a proxy"}
	errUpgrade  = &refusalError{http.StatusBadGateway, "http_protocol_error", socks5.GeneralFailure, "the target changed to a protocol that nobody asked for"}
)

// refuse says what a client is told of err.
func refuse(err error) *refusalError {
	if r, ok := errors.AsType[*refusalError](err); ok {
		return r
	}
	for _, known := range refusals {
		if errors.Is(err, known.err) {
			return &known.refusalError
		}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsTimeout {
			return &refusalError{http.StatusGatewayTimeout, "dns_timeout", socks5.HostUnreachable, "the look-up of the host took too long"}
		}
		return &refusalError{http.StatusBadGateway, "dns_error", socks5.HostUnreachable, "the host cannot be looked up"}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return &refusalError{http.StatusGatewayTimeout, "connection_timeout", socks5.TTLExpired, "the target took too long"}
	}
	return &refusalError{http.StatusBadGateway, "http_protocol_error", socks5.GeneralFailure, "the target's answer cannot be understood"}
}

// refusals are by error; the first that matches counts.
var refusals = []struct {
	err error
	refusalError
}{
	{access.ErrNeeded, refusalError{http.StatusProxyAuthRequired, "http_request_denied", socks5.NotAllowed, access.ErrNeeded.Error()}},
	{access.ErrWrong, refusalError{http.StatusProxyAuthRequired, "http_request_denied", socks5.NotAllowed, access.ErrWrong.Error()}},
	{access.ErrExpired, refusalError{http.StatusProxyAuthRequired, "http_request_denied", socks5.NotAllowed, access.ErrExpired.Error()}},
	{access.ErrSource, refusalError{http.StatusForbidden, "http_request_denied", socks5.NotAllowed, access.ErrSource.Error()}},
	{access.ErrThrottled, refusalError{http.StatusTooManyRequests, "http_request_denied", socks5.NotAllowed, access.ErrThrottled.Error()}},
	{destination.ErrAddress, refusalError{http.StatusForbidden, "destination_ip_prohibited", socks5.NotAllowed, destination.ErrAddress.Error()}},
	{destination.ErrPort, refusalError{http.StatusForbidden, "http_request_denied", socks5.NotAllowed, destination.ErrPort.Error()}},
	{errExpired, refusalError{http.StatusProxyAuthRequired, "http_request_denied", socks5.NotAllowed, errExpired.Error()}},
	{errIdle, refusalError{http.StatusGatewayTimeout, "http_response_timeout", socks5.TTLExpired, "the target took too long"}},
	{syscall.ECONNREFUSED, refusalError{http.StatusBadGateway, "connection_refused", socks5.ConnectionRefused, "the target refuses the connection"}},
	{syscall.ENETUNREACH, refusalError{http.StatusBadGateway, "destination_ip_unroutable", socks5.NetworkUnreachable, "the target's network cannot be reached"}},
	{syscall.EADDRNOTAVAIL, refusalError{http.StatusBadGateway, "destination_ip_unroutable", socks5.NetworkUnreachable, "the target's network cannot be reached"}},
	{syscall.EHOSTUNREACH, refusalError{http.StatusBadGateway, "destination_ip_unroutable", socks5.HostUnreachable, "the target cannot be reached"}},
	{syscall.EMFILE, errFull.copy()},
	{syscall.ENFILE, errFull.copy()},
	{syscall.ECONNRESET, refusalError{http.StatusBadGateway, "connection_terminated", socks5.GeneralFailure, "the target closed the connection"}},
	{syscall.EPIPE, refusalError{http.StatusBadGateway, "connection_terminated", socks5.GeneralFailure, "the target closed the connection"}},
	{io.EOF, refusalError{http.StatusBadGateway, "connection_terminated", socks5.GeneralFailure, "the target closed the connection"}},
	{io.ErrUnexpectedEOF, refusalError{http.StatusBadGateway, "http_response_incomplete", socks5.GeneralFailure, "the target closed the connection"}},
	{context.DeadlineExceeded, refusalError{http.StatusGatewayTimeout, "connection_timeout", socks5.TTLExpired, "the target took too long"}},
	{os.ErrDeadlineExceeded, refusalError{http.StatusGatewayTimeout, "connection_timeout", socks5.TTLExpired, "the target took too long"}},
}

func (r *refusalError) copy() refusalError { return *r }
