package envoy

import (
	"github.com/cncf/xds/go/udpa/annotations"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// redacted takes the place of what must not be shown, as in Envoy's own dumps.
const redacted = "[redacted]"

// redact replaces, at any depth and inside every Any, the fields that Envoy's
// API marks as sensitive.
func redact(m protoreflect.Message) error {
	if packed, ok := m.Interface().(*anypb.Any); ok {
		return redactPacked(packed)
	}
	var err error
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if isSensitive(field) {
			hide(m, field)
			return true
		}
		err = redactValue(field, value)
		return err == nil
	})
	return err
}

func redactPacked(packed *anypb.Any) error {
	inner, err := packed.UnmarshalNew()
	if err != nil {
		return err
	}
	if err := redact(inner.ProtoReflect()); err != nil {
		return err
	}
	packed.Value, err = proto.MarshalOptions{Deterministic: true}.Marshal(inner)
	return err
}

func redactValue(field protoreflect.FieldDescriptor, value protoreflect.Value) (err error) {
	switch {
	case field.IsMap():
		if field.MapValue().Message() == nil {
			return nil
		}
		value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
			err = redact(v.Message())
			return err == nil
		})
	case field.Message() == nil:
	case field.IsList():
		for i := range value.List().Len() {
			if err := redact(value.List().Get(i).Message()); err != nil {
				return err
			}
		}
	default:
		return redact(value.Message())
	}
	return err
}

func isSensitive(field protoreflect.FieldDescriptor) bool {
	marked, ok := proto.GetExtension(field.Options(), annotations.E_Sensitive).(bool)
	return ok && marked
}

// hide leaves a text in place of a value where there can be one, else nothing.
func hide(m protoreflect.Message, field protoreflect.FieldDescriptor) {
	switch {
	case field.IsList() || field.IsMap():
		m.Clear(field)
	case field.Kind() == protoreflect.StringKind:
		m.Set(field, protoreflect.ValueOfString(redacted))
	case field.Kind() == protoreflect.BytesKind:
		m.Set(field, protoreflect.ValueOfBytes([]byte(redacted)))
	case field.Message() != nil && field.Message().FullName() == "envoy.config.core.v3.DataSource":
		hidden := &envoy_core_v3.DataSource{Specifier: &envoy_core_v3.DataSource_InlineString{InlineString: redacted}}
		m.Set(field, protoreflect.ValueOfMessage(hidden.ProtoReflect()))
	default:
		m.Clear(field)
	}
}
