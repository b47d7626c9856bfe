package remote

import (
	"errors"
	"fmt"
	"strings"

	validator_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/validator/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// maxErrors bounds how many causes are taken from one answer.
const maxErrors = 100

// verdict reads the answer to the candidate that was sent last.
func (c *conversation) verdict(r *validator_v1alpha1.Response) (validator.Verdict, error) {
	if r.GetSequence() != c.sequence {
		return validator.Verdict{}, fmt.Errorf("it answered %d when it was asked about %d; a service answers each candidate once", r.GetSequence(), c.sequence)
	}
	if why := r.GetUnavailable(); why != "" {
		return validator.Verdict{}, errors.New("it says: " + why)
	}
	var v validator.Verdict
	for _, e := range r.GetErrors()[:min(len(r.GetErrors()), maxErrors)] {
		refusal, err := refusalOf(e)
		if err != nil {
			return validator.Verdict{}, err
		}
		v.Refusals = append(v.Refusals, refusal)
	}
	return v, nil
}

func refusalOf(e *validator_v1alpha1.Error) (validator.Refusal, error) {
	r := validator.Refusal{Field: e.GetField(), Message: line(e.GetMessage())}
	if r.Message == "" {
		r.Message = "refused without a message"
	}
	if o := e.GetObject(); o != nil {
		r.Objects = []store.Key{{Collection: o.GetKind(), Name: o.GetName()}}
	}
	if n := e.GetResource(); n != nil {
		t, ok := xdsserve.TypeWithShort(n.GetType())
		if !ok {
			return r, fmt.Errorf("resource.type %q is no type served; give the last part of its type URL, for example Listener", n.GetType())
		}
		r.Resources = []xdsserve.Scoped{{Group: n.GetGroup(), Name: xdsserve.Name{Type: t, Name: n.GetName()}}}
	}
	return r, nil
}

// maxLine bounds what is shown of what a service says, in bytes.
const maxLine = 1000

// line makes one line of what a service says.
func line(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	return text
}
