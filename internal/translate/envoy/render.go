package envoy

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// JSON renders the body of a resource in Envoy's own JSON form, indented by two
// spaces and with sorted keys: equal resources give equal text. Unless
// showSecrets is set, whatever Envoy's API marks as sensitive, private keys for
// one, reads "[redacted]".
func JSON(r xdsserve.Resource, showSecrets bool) (json.RawMessage, error) {
	body, err := Message(r)
	if err != nil {
		return nil, err
	}
	if !showSecrets {
		if err := redact(body.ProtoReflect()); err != nil {
			return nil, fmt.Errorf("redact %s: %w", r.Name.Name, err)
		}
	}
	loose, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(body)
	if err != nil {
		return nil, err
	}
	return sortKeys(loose)
}

// YAML is JSON in YAML.
func YAML(r xdsserve.Resource, showSecrets bool) ([]byte, error) {
	text, err := JSON(r, showSecrets)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(text)
}

// Message decodes the body of a resource into the message of its type.
func Message(r xdsserve.Resource) (proto.Message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByURL(string(r.Type))
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", r.Name.Name, err)
	}
	body := kind.New().Interface()
	if err := proto.Unmarshal(r.Body, body); err != nil {
		return nil, fmt.Errorf("resource %s: %w", r.Name.Name, err)
	}
	return body, nil
}

// sortKeys writes JSON in one form; protojson promises none. Numbers stay as
// they are written.
func sortKeys(loose []byte) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(loose))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// Redacted is the body of a resource, marshalled, in which whatever Envoy's API marks as
// sensitive reads "[redacted]".
func Redacted(r xdsserve.Resource) ([]byte, error) {
	body, err := Message(r)
	if err != nil {
		return nil, err
	}
	if err := redact(body.ProtoReflect()); err != nil {
		return nil, fmt.Errorf("redact %s: %w", r.Name.Name, err)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(body)
}
