package command

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// The example of docs/validators.md does what the page says.
func TestExampleOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/validators.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "```sh\n#!/bin/sh\n")
	example, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("the page has no example")
	}
	v := New(options(t, script(t, example)))
	good := viewOf(table(t, "cart", "a.test"))
	if got := v.Validate(t.Context(), good.from(nil)); len(got.Refusals) > 0 || got.Unavailable != "" {
		t.Errorf("a table with a host: %+v", got)
	}
	want := validator.Verdict{Refusals: []validator.Refusal{{
		Resources: []xdsserve.Scoped{{Group: "shop/edge", Name: xdsserve.Name{Type: xdsserve.Routes, Name: "any"}}},
		Message:   "serves any host; give its routes hostnames",
	}}}
	got := v.Validate(t.Context(), viewOf(table(t, "cart", "a.test"), table(t, "any", "*")).from(good))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a table of any host (-want +got):\n%s", diff)
	}
}
