package verdict_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

func TestStepsKeepTheirRelatedObjectsInJSON(t *testing.T) {
	step := verdict.Accepted.Step(verdict.Accept, verdict.OK, "accepted",
		verdict.Ref{Collection: "Service", Name: "shop/cart"}, verdict.Ref{Collection: "GatewayClass", Name: "gatehouse"}).At("spec")

	encoded, err := json.Marshal(step)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"stage":"accept","outcome":"ok","reason":"Accepted","message":"accepted","field":"spec",` +
		`"related":[{"kind":"Service","namespace":"shop","name":"cart"},{"kind":"GatewayClass","name":"gatehouse"}]}`
	if diff := cmp.Diff(want, string(encoded)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}

	var back verdict.Step
	if err := json.Unmarshal(encoded, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(step, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
