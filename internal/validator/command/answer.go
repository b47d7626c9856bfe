package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// report is what a program that refuses writes to its standard output.
type report struct {
	Errors []reported `json:"errors"`
}

// reported is one cause; it may name an object, a resource, both or neither.
type reported struct {
	Object *struct {
		Kind string `json:"kind"`
		Name string `json:"name"` // "namespace/name", or "name" when cluster-scoped
	} `json:"object"`
	Resource *struct {
		Type  string `json:"type"` // "RouteConfiguration"
		Name  string `json:"name"`
		Group string `json:"group"` // the Gateway, "namespace/name"
	} `json:"resource"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

// maxErrors bounds how many causes are taken from one report.
const maxErrors = 100

// answer reads the report of a program that refused.
func answer(out output) validator.Verdict {
	if out.cut {
		return validator.Verdict{Unavailable: fmt.Sprintf("its report is longer than %d bytes", maxOutput)}
	}
	var r report
	d := json.NewDecoder(bytes.NewReader(out.stdout))
	d.DisallowUnknownFields()
	err := d.Decode(&r)
	if err == nil && len(bytes.TrimSpace(out.stdout[d.InputOffset():])) > 0 {
		err = errors.New("something follows the report")
	}
	if err != nil {
		return validator.Verdict{Unavailable: fmt.Sprintf(`it refuses, and its output is no {"errors": […]}: %s%s`, line(err.Error()), said(out.stderr))}
	}
	if len(r.Errors) == 0 {
		return validator.Verdict{Unavailable: "it refuses for no reason: its report has no errors"}
	}
	var v validator.Verdict
	for _, e := range r.Errors[:min(len(r.Errors), maxErrors)] {
		refusal, err := e.refusal()
		if err != nil {
			return validator.Verdict{Unavailable: "its report is not understood: " + err.Error()}
		}
		v.Refusals = append(v.Refusals, refusal)
	}
	return v
}

func (e reported) refusal() (validator.Refusal, error) {
	r := validator.Refusal{Field: line(e.Field), Message: line(e.Message)}
	if r.Message == "" {
		r.Message = "it says nothing about why"
	}
	if e.Object != nil {
		if e.Object.Kind == "" || e.Object.Name == "" {
			return r, errors.New(`an object needs kind and name, for example {"kind": "HTTPRoute", "name": "shop/cart"}`)
		}
		r.Objects = []store.Key{{Collection: e.Object.Kind, Name: e.Object.Name}}
	}
	if e.Resource != nil {
		t, ok := xdsserve.TypeWithShort(e.Resource.Type)
		if !ok {
			return r, fmt.Errorf("resource.type %q is none of %s", line(e.Resource.Type), strings.Join(xdsserve.ShortTypes(), ", "))
		}
		r.Resources = []xdsserve.Scoped{{Group: e.Resource.Group, Name: xdsserve.Name{Type: t, Name: e.Resource.Name}}}
	}
	return r, nil
}
