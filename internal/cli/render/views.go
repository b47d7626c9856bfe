package render

import (
	"fmt"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
)

// Views compares, per proxy, what it believes with what it should.
func Views(s Style, views []admin.View) string {
	if len(views) == 0 {
		return "no proxy has connected\n"
	}
	t := Table{Header: []string{"GATEWAY", "PROXY", "BELIEF"}}
	for _, v := range views {
		text, color := belief(v)
		t.Rows = append(t.Rows, []Cell{T(v.Gateway), T(v.Proxy), {text, color}})
		for _, r := range v.Refused {
			t.Rows = append(t.Rows, []Cell{T(""), T(""), T(fmt.Sprintf("refuses %s %s: %s", r.Resource.Type, r.Resource.Name, r.Message))})
		}
	}
	return t.Render(s)
}

func belief(v admin.View) (string, Color) {
	switch {
	case !v.Connected:
		return "not connected", Red
	case len(v.Refused) > 0:
		return "refuses " + Count(len(v.Refused), "resource") + "; its previous version stays in force", Red
	case v.Behind > 0:
		return fmt.Sprintf("behind %s for %s", Count(v.Behind, "resource"), Duration(v.BehindFor)), Yellow
	}
	return "in sync", Green
}
