package gcp_test

import (
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/compute/apiv1/computepb"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/gcp"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

const someName = "px-11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa"

// TestAnswers: what each answer of Google means, read by the real client.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const at = "projects/test-project/zones/europe-west1-b"
	for _, c := range []struct {
		status          int
		reason, message string
		class, says     string
	}{
		{403, "quotaExceeded", "Quota 'CPUS' exceeded. Limit: 24.0 in region europe-west1.", "QuotaExceeded", "quotaExceeded: Quota 'CPUS'"},
		{403, "rateLimitExceeded", "Rate Limit Exceeded", "Transient", "rateLimitExceeded"},
		{403, "userRateLimitExceeded", "Rate Limit Exceeded", "Transient", "userRateLimitExceeded"},
		{429, "rateLimitExceeded", "Too many", "Transient", ""},
		{429, "", "Too many", "Transient", "status 429"},
		{503, "ZONE_RESOURCE_POOL_EXHAUSTED", "no machines", "QuotaExceeded", "ZONE_RESOURCE_POOL_EXHAUSTED: no machines"},
		{503, "backendError", "The zone '" + at + "' does not have enough resources available to fulfill the request.", "QuotaExceeded", "ZONE_RESOURCE_POOL_EXHAUSTED"},
		{503, "", "The zone '" + at + "' does not have enough resources available to fulfill the request.", "QuotaExceeded", "ZONE_RESOURCE_POOL_EXHAUSTED"},
		{400, "invalid", "Invalid value for field 'resource.machineType': 'zones/z/machineTypes/x'. It is not there.", "Permanent", "spec.machineType: Invalid value"},
		{400, "invalid", "Invalid value for field 'zone': 'x'. Unknown zone.", "Permanent", "spec.zone: Invalid value"},
		{400, "invalid", "Invalid value for field 'resource.metadata.items[1].value': 'secret'. Too bad.", "Permanent", "spec.cloudInit: Google takes no such value for resource.metadata.items[1].value"},
		{400, "resourceNotReady", "The resource '" + at + "/instances/x' is not ready", "Transient", "resourceNotReady"},
		{401, "authError", "Invalid Credentials", "Transient", "Google refuses our credentials: Invalid Credentials"},
		{403, "forbidden", "Required 'compute.instances.create' permission for '" + at + "/instances/x'", "Permanent", "status 403: Required 'compute.instances.create'"},
		{403, "accessNotConfigured", "Compute Engine API has not been used in project 1 before", "Permanent", "has not been used"},
		{404, "notFound", "The resource '" + at + "/instances/" + someName + "' was not found", "NotFound", ""},
		{404, "notFound", "The resource 'projects/test-project' was not found", "Permanent", "'projects/test-project' was not found"},
		{404, "notFound", "The resource '" + at + "' was not found", "Permanent", "was not found"},
		{404, "notFound", "The resource 'projects/debian-cloud/global/images/none' was not found", "Permanent", "spec.image: The resource"},
		{404, "notFound", "The resource 'projects/test-project/global/networks/none' was not found", "Permanent", "spec.network.network: The resource"},
		{412, "conditionNotMet", "Constraint constraints/compute.vmExternalIpAccess violated for project 1.", "Permanent", "vmExternalIpAccess"},
		{500, "internalError", "Internal error", "Transient", "internalError"},
		{502, "", "", "Transient", "status 502"},
		{307, "", "", "Transient", ""},
	} {
		w := newWorld(t)
		w.Add(fakegce.Fault{Status: c.status, Reason: c.reason, Message: c.message})
		_, err := w.Open(t, "c").Get(t.Context(), "zones/europe-west1-b/instances/"+someName)
		if provider.ClassName(err) != c.class || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d %s %q: %s, %v; want %s, %q", c.status, c.reason, c.message, provider.ClassName(err), err, c.class, c.says)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error repeats user data: %v", err)
		}
	}
}

// TestEndsOfOperations: what an operation that failed means.
func TestEndsOfOperations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, message string
		status        int32
		class         string
	}{
		{"QUOTA_EXCEEDED", "Quota 'CPUS' exceeded.", 403, "QuotaExceeded"},
		{"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "no machines", 503, "QuotaExceeded"},
		{"IP_SPACE_EXHAUSTED", "no addresses", 503, "QuotaExceeded"},
		{"RESOURCE_NOT_FOUND", "The resource 'projects/x/global/images/none' was not found", 404, "Permanent"},
		{"CONDITION_NOT_MET", "Constraint violated", 412, "Permanent"},
		{"RATE_LIMIT_EXCEEDED", "slow down", 403, "Transient"},
		{"INTERNAL_ERROR", "try again", 500, "Transient"},
		{"NEVER_HEARD_OF", "strange", 503, "Transient"},
		{"NEVER_HEARD_OF", "strange", 400, "Permanent"},
		{"", "FORBIDDEN", 403, "Permanent"},
		{"", "", 0, ""},
	} {
		op := &computepb.Operation{HttpErrorStatusCode: new(c.status), HttpErrorMessage: new(c.message)}
		if c.code != "" {
			op.Error = &computepb.Error{Errors: []*computepb.Errors{{Code: new(c.code), Message: new(c.message)}}}
		}
		if got := provider.ClassName(gcp.OperationError(op)); got != c.class {
			t.Errorf("%s %d: %s, want %s", c.code, c.status, got, c.class)
		}
	}
}

// TestRefusedCredentialsHavePatience: a refusal is transient at first, permanent when it
// stays, and forgotten by a success.
func TestRefusedCredentialsHavePatience(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Open(t, "0b9a7c52-5f7e-4c8e-9d1b-0c1f2a3b4c5d")
	refused := fakegce.Fault{Status: http.StatusUnauthorized, Reason: "authError", Message: "Invalid Credentials"}
	class := func() string {
		_, err := p.ListByTag(t.Context(), "c")
		return provider.ClassName(err)
	}
	id := w.Add(refused)
	if got := class(); got != "Transient" {
		t.Errorf("the first refusal is %s, want Transient", got)
	}
	w.clock.add(gcp.Patience)
	if got := class(); got != "Permanent" {
		t.Errorf("a refusal that stays is %s, want Permanent", got)
	}
	w.Cloud.Lift(id)
	if got := class(); got != "" {
		t.Errorf("the list fails: %s", got)
	}
	w.Add(refused)
	if got := class(); got != "Transient" {
		t.Errorf("a refusal after a success is %s, want Transient", got)
	}
}

// TestStates: what becomes of an instance by the word that Google has for its state.
func TestStates(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]provider.State{
		"PENDING": provider.Provisioning, "PROVISIONING": provider.Provisioning, "STAGING": provider.Provisioning, "REPAIRING": provider.Provisioning,
		"RUNNING":  provider.Running,
		"STOPPING": provider.Terminating, "DEPROVISIONING": provider.Terminating,
		"STOPPED": provider.Stopped, "TERMINATED": provider.Stopped, "SUSPENDING": provider.Stopped, "SUSPENDED": provider.Stopped, "PENDING_STOP": provider.Stopped,
		"INVENTED_LATER": provider.Provisioning, "": provider.Provisioning,
	} {
		if got := gcp.State(status); got != want {
			t.Errorf("%s: state %d, want %d", status, got, want)
		}
	}
}
