package admin_test

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

func TestRemedy(t *testing.T) {
	grant := verdict.RefNotPermitted
	for name, test := range map[string]struct {
		step verdict.Step
		want string
	}{
		"from the reason":         {grant.Step(verdict.Compile, verdict.Warning, "in another namespace"), grant.Remedy},
		"good news":               {grant.Step(verdict.Compile, verdict.OK, "in another namespace"), ""},
		"the message has it":      {grant.Step(verdict.Compile, verdict.Warning, "not granted: add a ReferenceGrant in payments"), ""},
		"the message goes on":     {grant.Step(verdict.Compile, verdict.Warning, "not granted → 12% answer 500"), ""},
		"accept always has it":    {verdict.UnsupportedValue.Step(verdict.Accept, verdict.WasRejected, "is no number"), ""},
		"a reason without remedy": {verdict.Seen.Step(verdict.Compile, verdict.Warning, "seen"), ""},
		"an unknown reason":       {verdict.Step{Stage: verdict.Compile, Outcome: verdict.Warning, Reason: "FromTheFuture"}, ""},
	} {
		if got := admin.Remedy(test.step); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
