package admin

import (
	"bytes"
	"encoding/json"
)

const redacted = "redacted"

// redact replaces the contents of a Secret; other objects pass unchanged.
func redact(object json.RawMessage) json.RawMessage {
	if !bytes.Contains(object, []byte(`"Secret"`)) {
		return object
	}
	var o map[string]any
	if json.Unmarshal(object, &o) != nil || o["kind"] != "Secret" {
		return object
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := o[field].(map[string]any)
		for key := range values {
			values[key] = redacted
		}
	}
	if meta, _ := o["metadata"].(map[string]any); meta != nil {
		if notes, _ := meta["annotations"].(map[string]any); notes != nil {
			delete(notes, "kubectl.kubernetes.io/last-applied-configuration") // holds the data again
		}
	}
	out, err := json.Marshal(o)
	if err != nil { // cannot be: it was just decoded
		return json.RawMessage(`{"kind":"Secret"}`)
	}
	return out
}
