package egress

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/session"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/token"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/username"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	fleet_access "github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/socks5"
)

// anybody is the holder where there are no tokens; no token can be called so.
const anybody = "-"

// doors lets in who has a token, and reads what the user name asks for.
type doors struct {
	tokens *token.File // nil lets everybody in
	log    *slog.Logger
}

func (s *Server) access() forward.Access { return &doors{s.Tokens, s.Log} }

// Asks implements [forward.Access]: also where everybody is let in, a user name says what
// is wanted.
func (d *doors) Asks() bool { return true }

// Decide implements [forward.Access]. A wrong token is the first thing that is told:
// others learn nothing of the grammar.
func (d *doors) Decide(source netip.Addr, given *fleet_access.Given, _ time.Time) (fleet_access.Grant, error) {
	var holder token.Holder
	switch {
	case d.tokens == nil:
		holder.Name = anybody
	case given == nil:
		return fleet_access.Grant{}, fleet_access.ErrNeeded
	default:
		var found bool
		if holder, found = d.tokens.Set().Find(given.Password); !found {
			return fleet_access.Grant{}, fleet_access.ErrWrong
		}
	}
	if given == nil {
		given = &fleet_access.Given{}
	}
	ask, err := wanted(holder, given.Username)
	if err != nil {
		d.log.Info("a client is refused", "client", source, "token", holder.Name, "error", err)
		return fleet_access.Grant{}, err
	}
	return fleet_access.Grant{For: ask}, nil
}

// wanted is what a user name asks for, within what the token is limited to.
func wanted(h token.Holder, name string) (*session.Ask, error) {
	wish, err := username.Parse(name)
	if err != nil {
		return nil, refusal(http.StatusProxyAuthRequired, err)
	}
	if wish, err = h.Limited(wish); err != nil {
		return nil, refusal(http.StatusForbidden, err)
	}
	return &session.Ask{Holder: h.Name, Wish: wish}, nil
}

// refusal tells the client what is wrong with its user name.
func refusal(status int, err error) error {
	return &forward.RefusalError{Status: status, Kind: "http_request_denied", Reply: socks5.NotAllowed, Text: err.Error()}
}
