package admin

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Guard refuses what a browser may be tricked into: requests under a name that
// somebody else resolves to this address (DNS rebinding), and writes from foreign
// pages; and it tells browsers to trust nothing but the page itself.
func Guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set(serverHeader, "gatehouse")
		if !addressed(r.Host) {
			fail(w, http.StatusMisdirectedRequest,
				"host "+r.Host+" is not answered; ask by IP address or localhost, so that no foreign name can be pointed here")
			return
		}
		defer answerPanic(w)
		cross.ServeHTTP(w, r)
	})
}

// answerPanic tells who asked of a defect, instead of ending the connection.
func answerPanic(w http.ResponseWriter) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler: // net/http compares it the same way
		panic(p)
	default:
		fail(w, http.StatusInternalServerError, fmt.Sprintf("this is a bug in Gatehouse, please report it: %v", p))
	}
}

// serverHeader tells the client that it talks to the admin API.
const serverHeader = "Gatehouse-Api"

// addressed reports whether a Host header names no one but an address: an IP
// literal, or localhost. A page of another origin always carries its own name.
func addressed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	_, err := netip.ParseAddr(name)
	return err == nil || strings.EqualFold(name, "localhost")
}
