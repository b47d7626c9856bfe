package envoy

import (
	"errors"
	"fmt"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// fault is one field of a model value that Envoy would not take, or not take
// as it is meant.
type fault struct {
	Field string // path inside the model value
	Value string
	Why   string // cause and remedy
}

func (f *fault) Error() string { return fmt.Sprintf("%s %q: %s", f.Field, f.Value, f.Why) }

func faultf(field, value, why string, args ...any) error {
	return &fault{Field: field, Value: value, Why: fmt.Sprintf(why, args...)}
}

// within puts a prefix before the field of a fault.
func within(prefix string, err error) error {
	if f, ok := errors.AsType[*fault](err); ok {
		return &fault{Field: prefix + "." + f.Field, Value: f.Value, Why: f.Why}
	}
	return err
}

// failure reports why a resource, or a part of it, is missing.
func failure(t xdsserve.Type, name string, refs []model.Ref, err error) Failure {
	out := Failure{Type: t, Name: name, Message: err.Error(), Origins: refs}
	if f, ok := errors.AsType[*fault](err); ok {
		out.Field = f.Field
		out.Message = fmt.Sprintf("%q: %s", f.Value, f.Why)
	}
	return out
}

// failed is the Output of a value without a resource.
func failed(t xdsserve.Type, name string, refs []model.Ref, err error) Output {
	return Output{Failures: []Failure{failure(t, name, refs, err)}}
}
