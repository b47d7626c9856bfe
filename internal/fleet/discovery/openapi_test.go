package discovery_test

import (
	"bytes"
	"encoding/json/v2"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
)

// document is as much of the description as tests look at.
type document struct {
	Paths      map[string]map[string]any `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

type schema struct {
	Properties map[string]any `json:"properties"`
	Required   []string       `json:"required"`
	OneOf      []struct {
		Const, Description string
	} `json:"oneOf"`
	AdditionalProperties *bool `json:"additionalProperties"`
}

const documentURL = "https://gatehouse.test/openapi.json"

// described reads the description, once.
var described = sync.OnceValues(func() (d struct {
	document
	raw      any
	compiler *jsonschema.Compiler
}, err error,
) {
	if err = json.Unmarshal(discovery.OpenAPI, &d.document, json.MatchCaseInsensitiveNames(true)); err != nil {
		return d, err
	}
	if d.raw, err = jsonschema.UnmarshalJSON(bytes.NewReader(discovery.OpenAPI)); err != nil {
		return d, err
	}
	d.compiler = jsonschema.NewCompiler()
	d.compiler.AssertFormat()
	return d, d.compiler.AddResource(documentURL, d.raw)
})

// operation returns the path and the method of the description that a request is of.
func operation(r *http.Request) (path, method string) {
	path, method = r.URL.EscapedPath(), strings.ToLower(r.Method)
	if rest, ok := strings.CutPrefix(path, "/v1/leases/"); ok {
		path = "/v1/leases/{id}"
		if strings.HasSuffix(rest, "/report") {
			path += "/report"
		}
	}
	if method == "head" {
		method = "get"
	}
	return path, method
}

// promise is an answer that the description has.
type promise struct{ operation, status, code string }

// kept are the promises that a test has seen.
type kept map[promise]bool

// conform compares an answer with the description, and remembers it.
func conform(t *testing.T, r *http.Request, a answer, seen kept) {
	t.Helper()
	code, _ := a.at("error").(string)
	if code == "not_found" || code == "method_not_allowed" || r.Method == http.MethodOptions {
		return // of a path or method that is not described
	}
	path, method := operation(r)
	if known, _ := look(t, pointer("paths", path, method)); known == nil && code != "" {
		return
	}
	status := strconv.Itoa(a.status)
	if seen != nil {
		seen[promise{method + " " + path, status, code}] = true
	}
	at := pointer("paths", path, method, "responses", status)
	response, at := look(t, at)
	if response == nil {
		t.Errorf("%s %s answers %s %s, which the description has not", method, path, status, code)
		return
	}
	conformHeaders(t, at, a.header)
	content, _ := response["content"].(map[string]any)
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if kind == "" && content == nil && a.body == "" {
		return
	}
	if content[kind] == nil {
		t.Errorf("%s %s answers %s with %q, which the description has not", method, path, status, kind)
	} else if r.Method != http.MethodHead {
		check(t, at+pointer("content", kind, "schema"), a.body, kind)
	}
}

func conformHeaders(t *testing.T, at string, sent http.Header) {
	t.Helper()
	response, _ := look(t, at)
	headers, _ := response["headers"].(map[string]any)
	for name := range headers {
		_, at := look(t, at+pointer("headers", name))
		check(t, at+pointer("schema"), sent.Get(name), "text/plain")
	}
	if after := sent.Get("Retry-After"); after != "" && headers["Retry-After"] == nil {
		t.Errorf("Retry-After: %s is not in the description", after)
	}
}

// check holds what was sent against the schema at a pointer.
func check(t *testing.T, at, sent, kind string) {
	t.Helper()
	d, _ := described()
	s, err := d.compiler.Compile(documentURL + "#" + at)
	if err != nil {
		t.Fatal(err)
	}
	var value any = sent
	if parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(sent)); kind != "text/plain" || strings.Trim(sent, "0123456789") == "" && sent != "" {
		if err != nil {
			t.Fatalf("%q: %v", sent, err)
		}
		value = parsed
	}
	if err := s.Validate(value); err != nil {
		t.Errorf("%s is not what the description says: %v", sent, err)
	}
}

// look returns the object at a pointer, and where it is if that refers to another.
func look(t *testing.T, at string) (map[string]any, string) {
	t.Helper()
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	value := d.raw
	for part := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		object, _ := value.(map[string]any)
		value = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	object, _ := value.(map[string]any)
	if ref, ok := object["$ref"].(string); ok {
		return look(t, strings.TrimPrefix(ref, "#"))
	}
	return object, at
}

func pointer(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

// promises are all answers of the description.
func promises(t *testing.T) kept {
	t.Helper()
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	all := kept{}
	for path, operations := range d.Paths {
		for method := range operations {
			if method == "parameters" {
				continue
			}
			responses, _ := look(t, pointer("paths", path, method, "responses"))
			for status := range responses {
				for _, code := range codesAt(t, pointer("paths", path, method, "responses", status)) {
					all[promise{method + " " + path, status, code}] = true
				}
			}
		}
	}
	return all
}

// codesAt are those of a response, or an empty one for a success.
func codesAt(t *testing.T, at string) []string {
	t.Helper()
	_, at = look(t, at)
	content, _ := look(t, at+pointer("content", "application/json", "schema"))
	parts, _ := content["allOf"].([]any)
	if len(parts) != 2 {
		return []string{""}
	}
	var codes []string
	enum := parts[1].(map[string]any)["properties"].(map[string]any)["error"].(map[string]any)["enum"]
	for _, code := range enum.([]any) {
		codes = append(codes, code.(string))
	}
	return codes
}

// TestDescriptionHasEveryRoute and nothing else.
func TestDescriptionHasEveryRoute(t *testing.T) {
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for path, operations := range d.Paths {
		for method := range operations {
			if method != "parameters" {
				got[path] = append(got[path], strings.ToUpper(method))
			}
		}
		slices.Sort(got[path])
	}
	want := discovery.Methods()
	for path := range want {
		slices.Sort(want[path])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-code +description):\n%s", diff)
	}
}

// TestDescriptionHasEveryField of what is read and written, and says which are always there.
func TestDescriptionHasEveryField(t *testing.T) {
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	schemas := d.Components.Schemas
	for name, want := range discovery.Fields() {
		if diff := cmp.Diff(sorted(want), slices.Sorted(maps.Keys(schemas[name].Properties))); diff != "" {
			t.Errorf("%s (-code +description):\n%s", name, diff)
		}
		if closed := schemas[name].AdditionalProperties; closed == nil || *closed {
			t.Errorf("%s does not say that other fields are refused", name)
		}
	}
	for name, value := range discovery.Answers() {
		var all, always []string
		for field := range reflect.TypeOf(value).Fields() {
			tag, option, _ := strings.Cut(field.Tag.Get("json"), ",")
			if all = append(all, tag); option == "" {
				always = append(always, tag)
			}
		}
		if diff := cmp.Diff(sorted(all), slices.Sorted(maps.Keys(schemas[name].Properties))); diff != "" {
			t.Errorf("%s (-code +description):\n%s", name, diff)
		}
		if diff := cmp.Diff(sorted(always), sorted(schemas[name].Required)); diff != "" {
			t.Errorf("%s, what is always there (-code +description):\n%s", name, diff)
		}
	}
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// TestDescriptionHasEveryCode and explains it.
func TestDescriptionHasEveryCode(t *testing.T) {
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	var got []discovery.Code
	for _, one := range d.Components.Schemas["Code"].OneOf {
		if got = append(got, discovery.Code(one.Const)); one.Description == "" {
			t.Errorf("%s is not explained", one.Const)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(discovery.Codes(), got); diff != "" {
		t.Errorf("codes (-code +description):\n%s", diff)
	}
}

// TestDescriptionIsServed to everybody.
func TestDescriptionIsServed(t *testing.T) {
	w := start(t)

	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/openapi.json", nil))

	if recorder.Code != 200 || !bytes.Equal(recorder.Body.Bytes(), discovery.OpenAPI) {
		t.Errorf("status %d, and a body of %d bytes", recorder.Code, recorder.Body.Len())
	}
}
