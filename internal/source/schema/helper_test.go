package schema

import (
	"encoding/json"
	"testing"

	structural_schema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

type structuralAlias = structural_schema.Structural

// one decodes a text that holds one good object.
func one(t *testing.T, v *Validator, text string) Object {
	t.Helper()
	all := decodeAll(v, []byte(text), nil)
	if len(all) != 1 || all[0].Value == nil {
		t.Fatalf("not one good object: %+v", all)
	}
	return all[0]
}

// jsonOf is the object, or its problems, as JSON.
func jsonOf(t *testing.T, o Object) string {
	t.Helper()
	var v any = o.Value
	if o.Value == nil {
		v = o.Problems
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
