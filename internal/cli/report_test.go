package cli

import (
	"bytes"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
)

func TestReport(t *testing.T) {
	r := app.Report{Files: 4, Findings: []app.Finding{
		{File: "bad/routes.yaml", Line: 18, Kind: "HTTPRoute", Name: "shop/search", Field: "spec.rules[0].matches[0].path.value", Message: `"/(": no regular expression`},
		{File: "bad/x.yaml", Line: 1, Message: "not YAML: found character that cannot start any token"},
		{File: "bad/gw.yaml", Line: 9, Kind: "Gateway", Name: "shop/edge", Message: "certificate expires in 3 days", Warning: true},
		{File: "bad", Kind: "HTTPRoute", Message: "no such file"},
	}}
	var out, errs bytes.Buffer
	s := &session{Out: &out, Err: &errs, style: render.Style{Unicode: true}}
	if err := s.printReport(asTable, r); err != nil {
		t.Fatal(err)
	}
	want := `bad/routes.yaml:18  httproute shop/search  spec.rules[0].matches[0].path.value: "/(": no regular expression
bad/x.yaml:1                               not YAML: found character that cannot start any token
bad/gw.yaml:9       gateway shop/edge      warning: certificate expires in 3 days
bad                 httproute              no such file
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if want := "3 findings in 3 of 4 files, 1 warning\n"; errs.String() != want {
		t.Errorf("got %q, want %q", errs.String(), want)
	}
}
