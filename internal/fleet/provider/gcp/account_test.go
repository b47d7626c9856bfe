package gcp_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/gcp"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

const ours = "0b9a7c52-5f7e-4c8e-9d1b-0c1f2a3b4c5d"

// serviceKey is the key of a service account whose token server must not be asked.
func serviceKey(t *testing.T, inProject string) []byte {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": inProject, "client_email": "fleet@" + inProject + ".iam.gserviceaccount.com",
		"private_key_id": "1", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"token_uri": "http://127.0.0.1:1/never",
	})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// configured is the provider as a Secret says.
func configured(t *testing.T, p provider.Provider, config map[string][]byte) provider.Provider {
	t.Helper()
	out, err := provider.Configured(p, config)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAccounts: a key is used for its Proxies alone, and the fleet's list sees both.
func TestAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Set(func(o *fakegce.Options) { o.Projects = append(o.Projects, "other-project") })
	base := w.Open(t, ours)
	theirs := configured(t, base, map[string][]byte{"credentials.json": serviceKey(t, "other-project")})

	mine := make(map[string]string)
	for name, p := range map[string]provider.Provider{"base": base, "theirs": theirs} {
		got, err := p.Create(t.Context(), usual(func(r *provider.CreateRequest) { r.Name, r.UID = "px-"+name, name }))
		if err != nil {
			t.Fatal(err)
		}
		mine[name] = got.ID
	}
	for _, call := range w.Calls() {
		if call.Authorization != (call.Project == "other-project") {
			t.Errorf("%s %s: with credentials is %t", call.Method, call.Path, call.Authorization)
		}
	}
	all, err := base.ListByTag(t.Context(), ours)
	if err != nil || len(all) != 2 {
		t.Errorf("the fleet's list: %v, %v; want %v", all, err, mine)
	}
	if _, err := base.Get(t.Context(), mine["theirs"]); err != nil {
		t.Errorf("get by its ID: %v", err)
	}
	if got, err := theirs.Find(t.Context(), ours, "theirs"); err != nil || len(got) != 1 || got[0].ID != mine["theirs"] {
		t.Errorf("find: %v, %v", got, err)
	}
	if err := base.Delete(t.Context(), mine["theirs"]); err != nil {
		t.Errorf("delete by its ID: %v", err)
	}
}

// TestCreateReadsItsConfig: the request's own config counts without being configured.
func TestCreateReadsItsConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Set(func(o *fakegce.Options) { o.Projects = append(o.Projects, "other-project") })
	r := usual(func(r *provider.CreateRequest) { r.Config = map[string][]byte{"project": []byte("other-project\n")} })
	got, err := w.Open(t, ours).Create(t.Context(), r)
	if err != nil || !strings.HasPrefix(got.ID, "projects/other-project/zones/") {
		t.Errorf("%s, %v; want an instance in other-project", got.ID, err)
	}
}

// TestBadConfig: what is wrong is named, and nothing of a key is told.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	p := newWorld(t).Open(t, ours)
	file := `{"type":"external_account","client_email":"a","private_key":"hunter2","credential_source":{"file":"/etc/passwd"}}`
	for want, config := range map[string]map[string][]byte{
		"has neither credentials.json nor project":                                                  {"credential.json": []byte("{}")},
		"credentials.json of the Secret of spec.providerConfigRef is not JSON":                      {"credentials.json": []byte("hunter2")},
		"credentials.json of the Secret of spec.providerConfigRef has not the type service_account": {"credentials.json": []byte(file)},
		"has no client_email or private_key":                                                        {"credentials.json": []byte(`{"type":"service_account","client_email":"hunter2"}`)},
		"project of the Secret of spec.providerConfigRef is no project ID: give 6 to 30":            {"project": []byte("hunter2/../x")},
	} {
		_, err := provider.Configured(p, config)
		if provider.ClassName(err) != "Permanent" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v; want a permanent error with %q and without the value", err, want)
		}
	}
	bad := configured(t, p, map[string][]byte{"credentials.json": []byte(`{"type":"service_account","project_id":"other-project","client_email":"a@b","private_key":"hunter2"}`)})
	if _, err := bad.Get(t.Context(), "zones/europe-west1-b/instances/px-1"); provider.ClassName(err) != "Permanent" || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a key that is none: %v", err)
	}
}

// TestManyAccountsAreForgotten: what a stream of Secrets names does not pile up, and the
// account in use stays.
func TestManyAccountsAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Open(t, ours)
	for i := range 600 {
		w.clock.add(1)
		configured(t, p, map[string][]byte{"project": fmt.Appendf(nil, "project-%d", i)})
	}
	_, err := p.ListByTag(t.Context(), ours)
	if n := len(w.Calls()); n > 300 || provider.ClassName(err) != "Permanent" {
		t.Errorf("a list after 600 projects made %d requests, and said %v", n, err)
	}
}

// TestNothingIsLogged: not even where the client's own logging is turned on.
func TestNothingIsLogged(t *testing.T) {
	t.Setenv("GOOGLE_SDK_GO_LOGGING_LEVEL", "debug")
	said := captured(t)
	w := newWorld(t)
	p := configured(t, w.Open(t, ours), map[string][]byte{"credentials.json": serviceKey(t, project)})
	got, err := p.Create(t.Context(), usual(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Get(t.Context(), got.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ListByTag(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	if text := said(); text != "" {
		t.Errorf("it wrote %q", text)
	}
}

// captured takes over the standard outputs and returns what was written until asked.
func captured(t *testing.T) func() string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, errs := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = write, write
	text := make(chan string, 1)
	go func() {
		var b bytes.Buffer
		_, _ = b.ReadFrom(read)
		text <- b.String()
	}()
	return func() string {
		os.Stdout, os.Stderr = out, errs
		_ = write.Close()
		return <-text
	}
}

// TestOnlyTheseCalls: a whole life makes the four calls of the contract, with reading of
// operations a fifth, and never one for another instance.
func TestOnlyTheseCalls(t *testing.T) {
	t.Parallel()
	for _, reads := range []bool{false, true} {
		w := newWorld(t)
		o := w.options(ours)
		o.ReadOperations = reads
		p := gcp.New(o)
		got, err := p.Create(t.Context(), usual(nil))
		if err != nil {
			t.Fatal(err)
		}
		outcome, tells := p.(provider.CreateOutcome)
		if tells != reads {
			t.Errorf("tells outcomes is %t, want %t", tells, reads)
		}
		if tells {
			if err := outcome.CreateError(t.Context(), got.ID, got.Operation); err != nil {
				t.Errorf("a create under way ended with %v", err)
			}
		}
		_, _ = p.Get(t.Context(), got.ID)
		_, _ = p.Find(t.Context(), ours, got.UID)
		if err := p.Delete(t.Context(), got.ID); err != nil {
			t.Error(err)
		}
		seen := map[string]bool{}
		for _, call := range w.Calls() {
			seen[call.Call] = true
			if call.Name != "" && call.Name != got.Name && call.Call != fakegce.Operation {
				t.Errorf("%s %s is about another instance", call.Method, call.Path)
			}
		}
		if want := 4 + map[bool]int{true: 1}[reads]; len(seen) != want || seen[""] {
			t.Errorf("calls %v, want %d kinds", seen, want)
		}
	}
}

// TestForeignInstancesAreNeverDeleted: whatever ID is given.
func TestForeignInstancesAreNeverDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Place(project, zone, "database", map[string]string{"team": "shop"})
	w.Place(project, zone, "px-1", map[string]string{"proxy-operator-uid": "1", "proxy-operator-cluster": "another-cluster"})
	p := w.Open(t, ours)
	for _, name := range []string{"database", "px-1"} {
		err := p.Delete(t.Context(), "zones/europe-west1-b/instances/"+name)
		if provider.ClassName(err) != "Permanent" || !strings.Contains(err.Error(), "has not the labels") {
			t.Errorf("delete %s: %v, want a permanent error", name, err)
		}
	}
	for _, call := range w.Calls() {
		if call.Method == http.MethodDelete {
			t.Errorf("%s %s", call.Method, call.Path)
		}
	}
}
