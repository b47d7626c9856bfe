package envoy

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// message is any generated message of Envoy's API with its own checks.
type message interface {
	proto.Message
	ValidateAll() error
}

// marshal checks a message by its own rules and encodes it: equal messages give
// equal bytes.
func marshal(m message) ([]byte, error) {
	if err := m.ValidateAll(); err != nil {
		return nil, fmt.Errorf("not valid for Envoy: %w", err)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// pack is marshal into an Any: the checks of the outer message do not look
// inside one.
func pack(m message) (*anypb.Any, error) {
	body, err := marshal(m)
	if err != nil {
		return nil, err
	}
	return &anypb.Any{TypeUrl: "type.googleapis.com/" + string(m.ProtoReflect().Descriptor().FullName()), Value: body}, nil
}

// seal makes the resource of a checked body.
func seal(t xdsserve.Type, group, name string, body []byte, uses []xdsserve.Name, from []string) *xdsserve.Resource {
	return &xdsserve.Resource{
		Name:    xdsserve.Name{Type: t, Name: name},
		Group:   group,
		Body:    body,
		Version: fmt.Sprintf("%016x", xxhash.Sum64(body)),
		Uses:    uses,
		Origins: from,
	}
}

// output is the Output of a value that is one message.
func output(t xdsserve.Type, group, name string, m message, uses []xdsserve.Name, refs []model.Ref) Output {
	body, err := marshal(m)
	if err != nil {
		return failed(t, name, refs, err)
	}
	return Output{Resource: seal(t, group, name, body, uses, origins(refs))}
}
