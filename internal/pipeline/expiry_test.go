package pipeline

import (
	"testing"
	"time"
)

func TestCertificateWarnings(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		end  time.Time
		want string
	}{
		"no certificate": {time.Time{}, ""},
		"far":            {now.Add(15 * 24 * time.Hour), ""},
		"soon":           {now.Add(3 * 24 * time.Hour), "a certificate expires on 2026-01-04, in 3 days; renew it"},
		"hours":          {now.Add(5 * time.Hour), "a certificate expires on 2026-01-01, in 5 h; renew it"},
		"over":           {now.Add(-time.Hour), "a certificate expired on 2025-12-31 and keeps serving; clients refuse it; renew it"},
	} {
		got := ""
		for _, s := range expiry(test.end, now) {
			got = s.Message
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
