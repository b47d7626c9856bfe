package pipeline

import (
	"fmt"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// expiresSoon is how long before its end a certificate is a warning.
const expiresSoon = 14 * 24 * time.Hour

// expiry warns of a certificate that has ended or soon will; either way it keeps serving.
func expiry(end, now time.Time) []verdict.Step {
	left := end.Sub(now)
	switch {
	case end.IsZero() || left > expiresSoon:
		return nil
	case left <= 0:
		return []verdict.Step{verdict.CertificateExpired.Step(verdict.Compile, verdict.Warning, fmt.Sprintf(
			"a certificate expired on %s and keeps serving; clients refuse it; renew it", date(end)))}
	default:
		return []verdict.Step{verdict.CertificateExpiring.Step(verdict.Compile, verdict.Warning, fmt.Sprintf(
			"a certificate expires on %s, in %s; renew it", date(end), days(left)))}
	}
}

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func days(d time.Duration) string {
	if d < 48*time.Hour {
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
