package observe

import (
	"fmt"
	"io"
	"log/slog"
)

// Keys of log attributes. The same thing has the same key everywhere, and the
// same name in metrics and documentation.
const (
	KeyKind        = "kind"       // of an object, for example "HTTPRoute"
	KeyObject      = "object"     // "namespace/name", or "name" when cluster-scoped
	KeyField       = "field"      // path of a field
	KeyReason      = "reason"     // a verdict reason
	KeyState       = "state"      // a verdict state
	KeyWhat        = "what"       // what happened to an object
	KeyMessage     = "message"    // an explanation meant for people
	KeyRevision    = "revision"   // of the view
	KeyGateway     = "gateway"    // "namespace/name"
	KeyListener    = "listener"   // section name
	KeyAddress     = "address"    // "ip:port"
	KeyDeployment  = "deployment" // with ".pool" if it is the pooler
	KeyUser        = "user"       // as the server knows it
	KeyHealth      = "health"     // URL of a health server
	KeyMetrics     = "metrics"    // URL of a metrics server
	KeyProxy       = "proxy"      // node id
	KeyType        = "type"       // of an xDS resource, short
	KeyResource    = "resource"   // name of an xDS resource
	KeyAcked       = "acknowledged"
	KeyTotal       = "total"
	KeyTook        = "took"    // a duration
	KeyGrace       = "grace"   // a duration
	KeyCut         = "cut"     // how many of them
	KeyFailing     = "failing" // how many of them
	KeyFile        = "file"    // path, with ":line" where known
	KeyFiles       = "files"
	KeyObjects     = "objects"
	KeyPath        = "path"
	KeySetting     = "setting" // key of a static setting
	KeyValue       = "value"
	KeyFrom        = "from" // where a value came from
	KeyPID         = "pid"
	KeyRestart     = "restart" // time until a restart
	KeyVersion     = "version"
	KeyValidator   = "validator"   // name of a validator
	KeyExpires     = "expires"     // when a certificate is over
	KeyCertificate = "certificate" // SHA-256 of its DER form, in hex
	KeyProvider    = "provider"    // of instances, by its name in spec.provider
	KeyInstance    = "instance"    // the provider's own name of one
	KeyUID         = "uid"         // of a Proxy
	KeyLease       = "lease"       // of leader election
	KeyLeader      = "leader"      // identity of a process
	KeyNamespace   = "namespace"
	KeyError       = "error"
)

// LogOptions say how to log.
type LogOptions struct {
	// Level is debug, info, warn or error; anything else is info.
	Level string
	JSON  bool
}

// NewLogger returns a logger that writes to w. Values of type Secret are never written.
func NewLogger(w io.Writer, o LogOptions) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.Level)); err != nil {
		level = slog.LevelInfo
	}
	h := &slog.HandlerOptions{Level: level}
	if o.JSON {
		h.ReplaceAttr = durations
		return slog.New(slog.NewJSONHandler(w, h))
	}
	return slog.New(slog.NewTextHandler(w, h))
}

// durations makes text of durations, "5s", which in JSON would be nanoseconds.
func durations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.String(a.Key, a.Value.Duration().String())
	}
	return a
}

// Secret is text that must not be seen: every way of printing it gives "redacted".
type Secret string

const redacted = "redacted"

// LogValue hides the secret from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// Format hides the secret from fmt, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText hides the secret from encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
