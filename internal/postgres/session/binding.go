package session

import (
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// Legs are the two connections of a session, between which SCRAM passes unchanged.
// Channel binding ties a login to the certificate that the client sees, so that it holds
// only where the server shows the same one.
type Legs struct {
	ClientTLS, ServerTLS bool
	// SameCertificate tells that the client sees the server's certificate.
	SameCertificate bool
}

// The ends of mechanisms' names, and what a client says of channel binding first
// (RFC 5802, sections 4 and 7).
const (
	scramPrefix = "SCRAM-"
	plusSuffix  = "-PLUS"
	saysMight   = 'y' // it could, and believes that the server cannot
)

// Vain tells why the server will certainly refuse what a client answered to its offer of
// mechanisms; nil where it need not.
func (l Legs) Vain(login pgwire.Login) *RefusalError {
	switch {
	case !strings.HasPrefix(login.Mechanism, scramPrefix):
		return nil
	case strings.HasSuffix(login.Mechanism, plusSuffix) && l.SameCertificate:
		return nil
	case strings.HasSuffix(login.Mechanism, plusSuffix), login.Binding == saysMight && offersBinding(login):
		return ErrBinding
	}
	return nil
}

// Left guesses why a client left a login that it had not answered: it may take no offer
// of the server's. It is empty where the offer gives no reason.
func (l Legs) Left(login pgwire.Login) string {
	switch {
	case login.Ready || login.Answers > 0 || !login.Asked(pgwire.AuthSASL):
		return ""
	case offersBinding(login) && !l.ClientTLS:
		return "it came in clear, and the server offered channel binding, which libpq then takes for an attack: connect with sslmode=require or better, or speak to the server in clear"
	case !offersBinding(login) && l.ClientTLS:
		return "it may want channel binding (channel_binding=require), which the server did not offer, or ask for a password first: use passthrough by host name, or channel_binding=prefer"
	}
	return ""
}

func offersBinding(login pgwire.Login) bool {
	return slices.ContainsFunc(login.Mechanisms, func(m string) bool {
		return strings.HasPrefix(m, scramPrefix) && strings.HasSuffix(m, plusSuffix)
	})
}

// ErrBinding ends a login that cannot succeed: the proof holds for the certificate that
// the client sees, and the server has another.
var ErrBinding = refuse(InvalidAuthorization, "connect with channel_binding=disable, or ask for passthrough by host name, or for the server's own certificate at the router",
	"channel binding cannot work here: the server has another certificate than the router shows")
