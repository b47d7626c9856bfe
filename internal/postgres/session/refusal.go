package session

import (
	"fmt"
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// SQLSTATEs of refusals (PostgreSQL documentation, appendix A).
const (
	InvalidAuthorization = "28000" // malformed or bare login, routes that disagree, TLS required
	ConnectionFailed     = "08001" // unknown deployment, dial failed or timed out
	CannotConnectNow     = "57P03" // deployment known, but no endpoint is ready
	TooManyConnections   = "53300" // limits
	ProtocolViolation    = "08P01" // bad packet
	FeatureNotSupported  = "0A000" // protocol 2.0
	AdminShutdown        = "57P01" // the router or the backend goes away
)

// hintLogin says what a login looks like.
const hintLogin = "log in as USER.DEPLOYMENT or USER.DEPLOYMENT.pool"

// RefusalError is what a client is told instead of being connected. It reveals no address.
type RefusalError struct {
	SQLSTATE, Message, Hint string
}

// Error implements error: "login "bob" names no deployment (SQLSTATE 28000)".
func (r *RefusalError) Error() string { return r.Message + " (SQLSTATE " + r.SQLSTATE + ")" }

// Response is the refusal on the wire.
func (r *RefusalError) Response() pgwire.ErrorResponse {
	return pgwire.ErrorResponse{Severity: pgwire.Fatal, SQLSTATE: r.SQLSTATE, Message: r.Message, Hint: r.Hint}
}

func refuse(state, hint, format string, args ...any) *RefusalError {
	return &RefusalError{SQLSTATE: state, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// maxShown bounds what is shown of a name that a client chose, in bytes.
const maxShown = 128

// quote shows a name that a client chose, without its control bytes.
func quote(name string) string {
	if len(name) > maxShown {
		return strconv.QuoteToASCII(name[:maxShown]) + "…"
	}
	return strconv.QuoteToASCII(name)
}

// Shown is a name that a client chose for a log, in quotes only where it needs them.
func Shown(name string) string {
	if quoted := quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}
