package health

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// Probe asks once, over a connection of its own that is closed afterwards: a tunnel that
// stays open would answer for the proxy, and one that is pooled by its destination for
// another proxy. Whatever happens is a result.
func Probe(ctx context.Context, p Proxy) Result {
	began := time.Now()
	within := cmp.Or(p.Check.Timeout, DefaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	a := attempt{proxy: p, credentials: p.login(began.Add(loginFor))}
	err := a.do(ctx)
	out := Result{Class: OK, Latency: time.Since(began), Egress: a.seen}
	if err != nil {
		if _, said := errors.AsType[*finding](err); !said && ctx.Err() != nil {
			err = ctx.Err()
		}
		class, text := a.stage.fails(err, within)
		out.Class, out.Message = class, a.clean(text)
	}
	return out
}

// loginFor is how long credentials of a probe are good for, as the clock of the proxy may
// be another one.
const loginFor = 5 * time.Minute

// login returns credentials that are good until then, the zero value without.
func (p *Proxy) login(until time.Time) offer.Credentials {
	if p.Login == nil {
		return offer.Credentials{}
	}
	return p.Login(until)
}

// finding is what a proxy did wrong, where that says more than the stage that it was in.
type finding struct {
	class Class
	text  string
}

func (f *finding) Error() string { return f.text }

func found(class Class, format string, with ...any) error {
	return &finding{class, fmt.Sprintf(format, with...)}
}

// stage is how far a probe has come, and the class of an error there: of one that comes
// late, of a connection that ends, and of any other.
type stage struct {
	name                   string
	late, ended, otherwise Class
}

var (
	preparing    = stage{"prepare the probe", Broken, Broken, Broken}
	connecting   = stage{"connect to the proxy", Dial, Dial, Dial}
	securing     = stage{"TLS handshake with the proxy", Timeout, Broken, TLSFailed}
	greeting     = stage{"SOCKS greeting", Timeout, Broken, Broken}
	loggingIn    = stage{"SOCKS authentication", Timeout, AuthFailed, Broken}
	tunnelling   = stage{"ask for a tunnel", Timeout, Broken, Broken}
	securingDeep = stage{"TLS handshake with the target", Timeout, Broken, TLSFailed}
	asking       = stage{"ask the target", Timeout, Broken, Broken}
)

// fails returns the class and the text of an error.
func (s *stage) fails(err error, within time.Duration) (Class, string) {
	f, ok := errors.AsType[*finding](err)
	switch {
	case ok:
		return f.class, f.text
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return s.late, fmt.Sprintf("%s: not over within %s", s.name, within)
	case hungUp(err):
		return s.ended, s.name + ": the connection ended: " + err.Error()
	}
	return s.otherwise, s.name + ": " + err.Error()
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// maxMessage is the longest message in bytes.
const maxMessage = 300

// clean writes a text in one line without the credentials, which a proxy may echo.
func (a *attempt) clean(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if p := a.credentials.Password; p != "" {
		text = strings.NewReplacer(a.basic(), "…", p, "…", url.QueryEscape(p), "…").Replace(text)
	}
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}

// basic is the credentials as HTTP sends them.
func (a *attempt) basic() string {
	return base64.StdEncoding.EncodeToString([]byte(a.credentials.Username + ":" + a.credentials.Password))
}
