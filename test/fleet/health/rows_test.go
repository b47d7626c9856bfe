package health

import (
	"strings"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
)

// row is a proxy that lies, and what is to be found of it.
type row struct {
	scheme egress_v1alpha1.Scheme
	url    string
	serve  func(*liar)
	want   health.Class
	// says is a part of the message.
	says string
	edit func(*egress_v1alpha1.Proxy)
}

const (
	clear  = "http://target.example/"
	inside = "https://target.example/"
	none   = ""

	ok       = "HTTP/1.1 200 OK\r\n"
	empty    = "Content-Length: 0\r\n\r\n"
	tunnel   = "HTTP/1.1 200 Connection established\r\n\r\n"
	needAuth = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=p\r\n" + empty
)

func noAuth(p *egress_v1alpha1.Proxy) { p.Spec.Auth = nil }

func egressOf(address string) func(*egress_v1alpha1.Proxy) {
	return func(p *egress_v1alpha1.Proxy) {
		p.Spec.HealthCheck.VerifyEgressIP = true
		p.Status.EgressIP = address
	}
}

// plain are lies of HTTP proxies that are asked for a page in clear.
func plain() map[string]row {
	get := func(want health.Class, says string, steps ...func(*liar) bool) row {
		return row{scheme: egress_v1alpha1.HTTP, url: clear, serve: does(append([]func(*liar) bool{request}, steps...)...), want: want, says: says}
	}
	with := func(r row, edit func(*egress_v1alpha1.Proxy)) row {
		r.edit = edit
		return r
	}
	return map[string]row{
		"accepts and hangs":        {scheme: egress_v1alpha1.HTTP, url: clear, serve: does(hang), want: health.Timeout, says: "ask the target: not over within"},
		"closes at once":           {scheme: egress_v1alpha1.HTTP, url: clear, serve: does(), want: health.Broken, says: "the connection ended"},
		"resets":                   {scheme: egress_v1alpha1.HTTP, url: clear, serve: does(request, reset), want: health.Broken, says: "the connection ended"},
		"speaks TLS":               {scheme: egress_v1alpha1.HTTP, url: clear, serve: does(secure(proxies.server(time.Hour, "127.0.0.1")), request, say(ok+empty)), want: health.Broken},
		"speaks SSH":               {scheme: egress_v1alpha1.HTTP, url: clear, serve: does(say("SSH-2.0-OpenSSH_9.2\r\n"), hang), want: health.Broken, says: "SSH-2.0"},
		"407":                      get(health.AuthFailed, "refuses the credentials", say(needAuth)),
		"407, and none are named":  with(get(health.AuthFailed, "spec.auth names none", say(needAuth)), noAuth),
		"502":                      get(health.BadStatus, "answered 502", say("HTTP/1.1 502 Bad Gateway\r\n"+empty)),
		"a redirect":               get(health.BadStatus, "answered 302", say("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"+empty)),
		"changes protocols":        get(health.BadStatus, "answered 101", say("HTTP/1.1 101 Switching Protocols\r\n\r\n")),
		"dead after a byte":        get(health.Broken, `malformed HTTP response "H"`, say("H")),
		"dead after the head":      get(health.Broken, "the connection ended", say(ok+"Content-Length: 10\r\n\r\nabc")),
		"hangs after the head":     get(health.Timeout, "not over", say(ok+"Content-Length: 10\r\n\r\nabc"), hang),
		"drips its head":           get(health.Timeout, "not over", say(ok+"X: "), drip),
		"drips its body":           get(health.Timeout, "not over", say(ok+"Content-Length: 100000\r\n\r\n"), drip),
		"endless body":             get(health.Broken, "longer than 65536", say(ok+"\r\n"), forever("x")),
		"endless chunks":           get(health.Broken, "longer than 65536", say(ok+"Transfer-Encoding: chunked\r\n\r\n"), forever("1\r\nx\r\n")),
		"endless header":           get(health.Broken, "longer than 65536", say(ok+"X: "), forever("x")),
		"endless headers":          get(health.Broken, "longer than 65536", say(ok), forever("X: y\r\n")),
		"endless 1xx":              get(health.Broken, "longer than 65536", forever("HTTP/1.1 103 Early Hints\r\n\r\n")),
		"bad chunks":               get(health.Broken, "ask the target", say(ok+"Transfer-Encoding: chunked\r\n\r\nzz\r\n")),
		"two lengths":              get(health.Broken, "Content-Length", say(ok+"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx")),
		"echoes what it was asked": {scheme: egress_v1alpha1.HTTP, url: clear, serve: echo, want: health.Broken},
		"a code that is no number": get(health.Broken, "malformed", say("HTTP/1.1 OK\r\n\r\n")),
		"another egress":           with(get(health.WrongEgress, "saw 192.0.2.9, not 192.0.2.1", say(ok+"Content-Length: 9\r\n\r\n192.0.2.9")), egressOf("192.0.2.1")),
		"no address":               with(get(health.WrongEgress, "no address", say(ok+"Content-Length: 5\r\n\r\nhello")), egressOf("192.0.2.1")),
		"the right egress":         with(get(health.OK, "", say(ok+"Content-Length: 18\r\n\r\n::ffff:192.0.2.1\r\n")), egressOf("192.0.2.1")),
		"a 1xx before":             get(health.OK, "", say("HTTP/1.1 103 Early Hints\r\n\r\n"), say(ok+empty)),
		"an answer until its end":  get(health.OK, "", say("HTTP/1.0 200 OK\r\n\r\nhello")),
		"a code that is expected":  with(get(health.OK, "", say("HTTP/1.1 404 no\r\n"+empty)), func(p *egress_v1alpha1.Proxy) { p.Spec.HealthCheck.ExpectedStatus = []egress_v1alpha1.StatusCode{404} }),
		"a code that is not": with(get(health.BadStatus, "answered 200, not 404, 503", say(ok+empty)), func(p *egress_v1alpha1.Proxy) {
			p.Spec.HealthCheck.ExpectedStatus = []egress_v1alpha1.StatusCode{404, 503}
		}),
		"accepts, and no URL": {scheme: egress_v1alpha1.HTTP, url: none, serve: does(hang), want: health.OK},
	}
}

// echo says what it was asked, credentials included, in its own words.
func echo(l *liar) {
	line, _ := l.in.ReadString('\n')
	for line != "\r\n" && line != "" {
		if strings.HasPrefix(line, "Proxy-Authorization") {
			say("HTTP/1.1 " + line)(l)
			return
		}
		line, _ = l.in.ReadString('\n')
	}
}

// tunnelled are lies of HTTP proxies that are asked for a tunnel.
func tunnelled() map[string]row {
	ask := func(want health.Class, says string, steps ...func(*liar) bool) row {
		return row{scheme: egress_v1alpha1.HTTP, url: inside, serve: does(append([]func(*liar) bool{request}, steps...)...), want: want, says: says}
	}
	good := targets.server(time.Hour, "target.example")
	return map[string]row{
		"CONNECT: hangs":               ask(health.Timeout, "ask for a tunnel", hang),
		"CONNECT: ends":                ask(health.Broken, "ask for a tunnel"),
		"CONNECT: 407":                 ask(health.AuthFailed, "refuses the credentials", say(needAuth)),
		"CONNECT: 403":                 ask(health.ConnectStatus, "with 403", say("HTTP/1.1 403 no\r\n"+empty)),
		"CONNECT: 502":                 ask(health.ConnectStatus, "with 502", say("HTTP/1.1 502 no\r\n"+empty)),
		"CONNECT: a redirect":          ask(health.ConnectStatus, "with 302", say("HTTP/1.1 302 no\r\nLocation: /\r\n"+empty)),
		"CONNECT: endless 1xx":         ask(health.Broken, "longer than 65536", forever("HTTP/1.1 100 Continue\r\n\r\n")),
		"CONNECT: endless headers":     ask(health.Broken, "longer than 65536", say(ok), forever("X: y\r\n")),
		"CONNECT: no HTTP":             ask(health.Broken, "malformed", say("220 mail\r\n")),
		"tunnel: hangs":                ask(health.Timeout, "TLS handshake with the target", say(tunnel), hang),
		"tunnel: ends":                 ask(health.Broken, "TLS handshake with the target", say(tunnel)),
		"tunnel: no TLS":               ask(health.TLSFailed, "TLS handshake with the target", say(tunnel), read(100), say("HTTP/1.1 200 OK\r\n\r\n"), hang),
		"tunnel: speaks first":         ask(health.TLSFailed, "TLS handshake with the target", say(tunnel+"220 mail\r\n"), hang),
		"tunnel: unknown authority":    ask(health.TLSFailed, "unknown authority", say(tunnel), secure(stranger.server(time.Hour, "target.example")), hang),
		"tunnel: another name":         ask(health.TLSFailed, "not target.example", say(tunnel), secure(targets.server(time.Hour, "other.example")), hang),
		"tunnel: expired":              ask(health.TLSFailed, "expired", say(tunnel), secure(targets.server(-time.Hour, "target.example")), hang),
		"tunnel: dead after TLS":       ask(health.Broken, "ask the target", say(tunnel), secure(good), request),
		"tunnel: hangs after TLS":      ask(health.Timeout, "ask the target", say(tunnel), secure(good), hang),
		"tunnel: 500":                  ask(health.BadStatus, "answered 500", say(tunnel), secure(good), request, say("HTTP/1.1 500 no\r\n"+empty)),
		"tunnel: 407 of the target":    ask(health.BadStatus, "answered 407", say(tunnel), secure(good), request, say(needAuth)),
		"tunnel: a redirect":           ask(health.BadStatus, "answered 301", say(tunnel), secure(good), request, say("HTTP/1.1 301 no\r\nLocation: https://127.0.0.1:1/\r\n"+empty)),
		"tunnel: endless body":         ask(health.Broken, "longer than 65536", say(tunnel), secure(good), request, say(ok+"\r\n"), forever("x")),
		"tunnel: well":                 ask(health.OK, "", say(tunnel), secure(good), request, say(ok+empty)),
		"tunnel: well, with a content": ask(health.OK, "", say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), secure(good), request, say(ok+empty)),
	}
}

// secured are lies of proxies whose own side is TLS.
func secured() map[string]row {
	over := func(url string, want health.Class, says string, steps ...func(*liar) bool) row {
		return row{scheme: egress_v1alpha1.HTTPS, url: url, serve: does(steps...), want: want, says: says}
	}
	with := func(r row, edit func(*egress_v1alpha1.Proxy)) row {
		r.edit = edit
		return r
	}
	mine := secure(proxies.server(time.Hour, "127.0.0.1"))
	answer := say(ok + empty)
	return map[string]row{
		"https: well":                  over(clear, health.OK, "", mine, request, answer),
		"https: well, without a URL":   over(none, health.OK, "", mine, hang),
		"https: well, through it":      over(inside, health.OK, "", mine, request, say(tunnel), secure(targets.server(time.Hour, "target.example")), request, answer),
		"https: 407":                   over(inside, health.AuthFailed, "refuses", mine, request, say(needAuth)),
		"https: speaks in clear":       over(clear, health.TLSFailed, "TLS handshake with the proxy", read(100), answer, hang),
		"https: in clear, no URL":      over(none, health.TLSFailed, "TLS handshake with the proxy", read(100), answer, hang),
		"https: hangs":                 over(clear, health.Timeout, "TLS handshake with the proxy", hang),
		"https: ends":                  over(clear, health.Broken, "TLS handshake with the proxy"),
		"https: unknown authority":     over(clear, health.TLSFailed, "unknown authority", secure(stranger.server(time.Hour, "127.0.0.1")), hang),
		"https: another address":       over(clear, health.TLSFailed, "TLS handshake with the proxy", secure(proxies.server(time.Hour, "192.0.2.1")), hang),
		"https: expired":               over(clear, health.TLSFailed, "expired", secure(proxies.server(-time.Hour, "127.0.0.1")), hang),
		"https: another name, as told": with(over(clear, health.OK, "", secure(proxies.server(time.Hour, "proxy.example")), request, answer), func(p *egress_v1alpha1.Proxy) { p.Spec.TLS.ServerName = "proxy.example" }),
		"https: not verified": with(over(clear, health.OK, "", secure(stranger.server(-time.Hour, "x.example")), request, answer), func(p *egress_v1alpha1.Proxy) {
			p.Spec.TLS = &egress_v1alpha1.TLS{InsecureSkipVerify: true}
		}),
		"https: endless inside": over(clear, health.Broken, "longer than 65536", mine, request, say(ok), forever("X: y\r\n")),
	}
}

// socks are lies of SOCKS proxies.
func socks() map[string]row {
	over := func(url string, want health.Class, says string, steps ...func(*liar) bool) row {
		return row{scheme: egress_v1alpha1.SOCKS5, url: url, serve: does(steps...), want: want, says: says}
	}
	with := func(r row, edit func(*egress_v1alpha1.Proxy)) row {
		r.edit = edit
		return r
	}
	in, yes, answer := greet(2), say("\x01\x00"), say(ok+empty)
	return map[string]row{
		"socks5: well":                    over(clear, health.OK, "", in, login, yes, connect, say(granted), request, answer),
		"socks5: well, through it":        over(inside, health.OK, "", in, login, yes, connect, say(granted), secure(targets.server(time.Hour, "target.example")), request, answer),
		"socks5: well, without a URL":     over(none, health.OK, "", in, login, yes, hang),
		"socks5: well, nobody asks":       over(none, health.OK, "", greet(0), hang),
		"socks5: bound to a name":         over(clear, health.OK, "", in, login, yes, connect, say("\x05\x00\x00\x03\x01a\x00\x00"), request, answer),
		"socks5: bound to IPv6":           over(clear, health.OK, "", in, login, yes, connect, say("\x05\x00\x00\x04"+strings.Repeat("\x00", 18)), request, answer),
		"socks5: hangs":                   over(clear, health.Timeout, "SOCKS greeting", hang),
		"socks5: ends":                    over(clear, health.Broken, "SOCKS greeting"),
		"socks5: speaks HTTP":             over(clear, health.Broken, "does not speak SOCKS5", say("HTTP/1.1 400 no\r\n"+empty), hang),
		"socks5: version 4":               over(none, health.Broken, "does not speak SOCKS5", say("\x00\x5b"), hang),
		"socks5: takes no method":         over(none, health.AuthFailed, "no way to authenticate", greet(0xff), hang),
		"socks5: asks, and none is named": with(over(none, health.AuthFailed, "spec.auth names none", greet(0xff), hang), noAuth),
		"socks5: takes another method":    over(clear, health.AuthFailed, "no way to authenticate", greet(1), hang),
		"socks5: refuses the password":    over(none, health.AuthFailed, "refuses the credentials", in, login, say("\x01\x01")),
		"socks5: ends at the password":    over(none, health.AuthFailed, "SOCKS authentication", in, login),
		"socks5: hangs at the password":   over(none, health.Timeout, "SOCKS authentication", in, hang),
		"socks5: refuses by its rules":    over(clear, health.ConnectStatus, "not allowed", in, login, yes, connect, say("\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00")),
		"socks5: cannot reach it":         over(clear, health.ConnectStatus, "host unreachable", in, login, yes, connect, say("\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00")),
		"socks5: an unknown refusal":      over(clear, health.ConnectStatus, "reply 91", in, login, yes, connect, say("\x05\x5b\x00\x01\x00\x00\x00\x00\x00\x00")),
		"socks5: another version then":    over(clear, health.Broken, "no SOCKS5", in, login, yes, connect, say("\x04\x00\x00\x01\x00\x00\x00\x00\x00\x00")),
		"socks5: an address of no type":   over(clear, health.Broken, "type of address", in, login, yes, connect, say("\x05\x00\x00\x09\x00\x00\x00\x00\x00\x00")),
		"socks5: ends in its answer":      over(clear, health.Broken, "ask for a tunnel", in, login, yes, connect, say("\x05\x00\x00\x01\x00")),
		"socks5: hangs at the target":     over(clear, health.Timeout, "ask for a tunnel", in, login, yes, hang),
		"socks5: dead after it":           over(clear, health.Broken, "ask the target", in, login, yes, connect, say(granted), request),
		"socks5: 407 of the target":       over(clear, health.BadStatus, "answered 407", in, login, yes, connect, say(granted), request, say(needAuth)),
	}
}
