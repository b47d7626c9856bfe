package session

import (
	"errors"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// MaxNegotiations is how many requests for encryption a client may send before its
// startup packet. libpq sends two.
const MaxNegotiations = 4

// Action is what to do about a packet of the startup phase.
type Action int

// The actions.
const (
	AnswerNo     Action = iota + 1 // write 'N' and read the next packet
	StartTLS                       // write 'S' and shake hands
	StartSession                   // the packet is the startup of a session
	SendCancel                     // the packet asks for a cancel: nobody is answered
	PassTLS                        // the client's TLS is for its server: nothing of it is read
)

// Negotiation is the startup phase of one connection, until a session or a cancel is
// asked for.
type Negotiation struct {
	// TLS: it is offered. Required: a session needs it; a cancel never does.
	TLS, Required bool

	secured  bool
	requests int
}

// Secured says that the TLS handshake is done.
func (n *Negotiation) Secured() { n.secured = true }

// Packet decides about a packet that the client sent. The error is a [*RefusalError].
func (n *Negotiation) Packet(p pgwire.Packet) (Action, error) {
	switch p.Kind {
	case pgwire.SSLRequest, pgwire.GSSENCRequest:
		return n.request(p.Kind)
	case pgwire.CancelRequest:
		return SendCancel, nil
	case pgwire.Startup:
		if n.Required && !n.secured {
			return 0, refuse(InvalidAuthorization, "connect with sslmode=require or better", "this router takes encrypted sessions only")
		}
		return StartSession, nil
	case pgwire.UnknownRequest:
	}
	return 0, refuse(ProtocolViolation, "", "unknown request in the startup phase")
}

func (n *Negotiation) request(kind pgwire.Kind) (Action, error) {
	n.requests++
	switch {
	case n.requests > MaxNegotiations:
		return 0, refuse(ProtocolViolation, "", "more than %d requests for encryption", MaxNegotiations)
	case n.secured:
		return 0, refuse(ProtocolViolation, "", "a request for encryption inside of it")
	case kind == pgwire.SSLRequest && n.TLS:
		return StartTLS, nil
	}
	return AnswerNo, nil
}

// Unreadable turns an error of [pgwire.Read] into what the client is told, or nil for a
// connection that is just over: a port check, or a client that changed its mind.
func Unreadable(err error) *RefusalError {
	if version, ok := errors.AsType[*pgwire.UnsupportedVersionError](err); ok {
		return refuse(FeatureNotSupported, "use a client that speaks protocol 3", "protocol %s is not supported", version.Version)
	}
	if long, ok := errors.AsType[*pgwire.TooLongError](err); ok {
		return refuse(ProtocolViolation, "", "startup packet of %d bytes, at most %d are taken", long.Length, pgwire.MaxPacket)
	}
	if malformed, ok := errors.AsType[*pgwire.MalformedError](err); ok {
		return refuse(ProtocolViolation, "", "%s", malformed.Error())
	}
	return nil
}

// Refusals that the shell of a session makes.
var (
	// ErrEarly is for bytes that came in clear where a TLS handshake is to begin: somebody
	// on the way may have put them there (CVE-2021-23214).
	ErrEarly = refuse(ProtocolViolation, "", "unencrypted bytes after a request for encryption")
	// ErrTooMany is for connections beyond the limit.
	ErrTooMany = refuse(TooManyConnections, "try again later", "the router has too many connections")
	// ErrTooManyOfDeployment, ErrTooManyOfNetwork and ErrAuthFailures are for limits of
	// one deployment, of one network of clients, and of logins that a server refused.
	ErrTooManyOfDeployment = refuse(TooManyConnections, "try again later", "this deployment has too many connections")
	ErrTooManyOfNetwork    = refuse(TooManyConnections, "close connections, or try again later", "your network has too many connections")
	ErrAuthFailures        = refuse(InvalidAuthorization, "correct the password, wait, and try again", "too many logins of your network were refused by this deployment")
	// ErrUnreachable is for a dial that failed or took too long.
	ErrUnreachable = refuse(ConnectionFailed, "try again; the server may be restarting", "the server of this deployment cannot be reached")
	// ErrInsecure is for a server that TLS cannot be spoken with as it is asked for.
	ErrInsecure = refuse(ConnectionFailed, "its operator finds the reason in the log of the router", "the connection to the server of this deployment cannot be secured")
	// ErrSilent is for a server that did not answer the startup message in time.
	ErrSilent = refuse(ConnectionFailed, "try again; the server may be overloaded", "the server of this deployment does not answer")
	// ErrLeaving ends a session in which nothing is under way.
	ErrLeaving = refuse(AdminShutdown, "connect again", "terminating connection: the router goes away")
	// ErrServerLeft ends a session whose endpoint has left its deployment.
	ErrServerLeft = refuse(AdminShutdown, "connect again", "terminating connection: the server has left this deployment")
	// ErrMD5 ends a login that cannot succeed: the client hashes its password with the
	// name that it sent, and the server checks with the one that it got.
	ErrMD5 = refuse(InvalidAuthorization, "use SCRAM (password_encryption = scram-sha-256), or name the deployment by SNI or options",
		"the server asks for an md5 password, which cannot match a login with a deployment in it")
)

// Unknown is for a deployment that nobody has registered.
func Unknown(deployment string) *RefusalError {
	return refuse(ConnectionFailed, hintLogin, "deployment %s is unknown", quote(deployment))
}

// OtherForm is for a deployment that is registered pooled and asked for otherwise, or the
// other way round.
func OtherForm(deployment string, asksPooled bool) *RefusalError {
	if asksPooled {
		return refuse(ConnectionFailed, "log in as USER.DEPLOYMENT", "deployment %s has no pool", quote(deployment))
	}
	return refuse(ConnectionFailed, "log in as USER.DEPLOYMENT.pool", "deployment %s is served by its pool only", quote(deployment))
}

// NotReady is for a deployment that has no server to connect to now.
func NotReady(deployment string) *RefusalError {
	return refuse(CannotConnectNow, "try again", "deployment %s has no server that is ready", quote(deployment))
}
