package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	admission_v1 "k8s.io/api/admission/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// review is the request of an AdmissionReview.
type review struct{ *admission_v1.AdmissionRequest }

// readReview decodes a review and checks what its operation needs. The error is a line
// for whoever sent it.
func readReview(body []byte) (review, error) {
	var in admission_v1.AdmissionReview
	if err := json.Unmarshal(body, &in); err != nil {
		return review{}, fmt.Errorf("the body is no AdmissionReview: %w; send one of admission.k8s.io/v1", err)
	}
	switch r := in.Request; {
	case in.Kind != "AdmissionReview" || in.APIVersion != admission_v1.SchemeGroupVersion.String():
		return review{}, fmt.Errorf("%q %q is not read; send an AdmissionReview of admission.k8s.io/v1", in.APIVersion, in.Kind)
	case r == nil:
		return review{}, fmt.Errorf("request: is missing; send what is to be saved")
	case r.UID == "":
		return review{}, fmt.Errorf("request.uid: is missing; send any text that tells requests apart")
	case r.Kind.Kind == "":
		return review{}, fmt.Errorf("request.kind.kind: is missing; send the kind of the object")
	default:
		out := review{r}
		return out, out.check()
	}
}

// check looks for what the operation is about.
func (r review) check() error {
	switch r.Operation {
	case admission_v1.Create, admission_v1.Update:
		if r.SubResource != "" {
			return nil
		}
		return r.checkObject()
	case admission_v1.Delete:
		if r.Name == "" {
			return fmt.Errorf("request.name: is missing; send the name of what is to be deleted")
		}
		return nil
	case admission_v1.Connect:
		return nil
	default:
		return fmt.Errorf("request.operation: %q is none of CREATE, UPDATE, DELETE, CONNECT", r.Operation)
	}
}

// checkObject compares the object with what the request says of it.
func (r review) checkObject() error {
	if len(r.Object.Raw) == 0 || string(r.Object.Raw) == "null" {
		return fmt.Errorf("request.object: is missing; %s needs the object as it is to be saved", r.Operation)
	}
	var o meta_v1.PartialObjectMetadata
	if err := json.Unmarshal(r.Object.Raw, &o); err != nil {
		return fmt.Errorf("request.object: is no object of Kubernetes: %w; send it as it is to be saved", err)
	}
	if o.Kind == "" || o.APIVersion == "" {
		return fmt.Errorf("request.object: has no kind or no apiVersion; send the object as it is to be saved")
	}
	for _, c := range []struct{ field, request, object string }{
		{"kind", r.Kind.Kind, o.Kind}, {"name", r.Name, o.Name}, {"namespace", r.Namespace, o.Namespace},
	} {
		if c.request != "" && c.object != "" && c.request != c.object {
			return fmt.Errorf("request.object: its %s is %q, and that of the request %q; send the same", c.field, c.object, c.request)
		}
	}
	return nil
}

// proposal is what the request wants to save; false is that there is nothing to judge:
// a connection, a status or another part that decides nothing here.
func (r review) proposal() (Proposal, bool) {
	switch {
	case r.Operation == admission_v1.Connect, r.SubResource != "":
		return Proposal{}, false
	case r.Operation != admission_v1.Delete:
		return Proposal{Objects: []json.RawMessage{r.inNamespace()}}, true
	}
	kind, served := snapshot.KindOf(r.Kind.Kind)
	if !served || kind.Group != r.Kind.Group {
		return Proposal{}, false
	}
	namespace := r.Namespace
	if kind.ClusterScoped { // that of a Namespace is its own name
		namespace = ""
	}
	return Proposal{Deletions: []ObjectName{{Kind: kind.Name, Name: snapshot.NamespacedName(namespace, r.Name)}}}, true
}

// inNamespace is the object with the namespace of the request, if it names none itself.
func (r review) inNamespace() json.RawMessage {
	var o map[string]json.RawMessage
	var meta map[string]json.RawMessage
	if r.Namespace == "" || json.Unmarshal(r.Object.Raw, &o) != nil || json.Unmarshal(o["metadata"], &meta) != nil || meta == nil {
		return r.Object.Raw
	}
	if text := string(meta["namespace"]); text != "" && text != `""` && text != "null" {
		return r.Object.Raw
	}
	meta["namespace"], _ = json.Marshal(r.Namespace) // a text always has a JSON form
	o["metadata"], _ = json.Marshal(meta)            // and so has what was JSON
	out, err := json.Marshal(o)
	if err != nil {
		return r.Object.Raw
	}
	return out
}

func (r review) allow() admission_v1.AdmissionReview {
	return r.respond(admission_v1.AdmissionResponse{Allowed: true})
}

// answer puts an admission into the words of API servers.
func (r review) answer(a Admission) admission_v1.AdmissionReview {
	out := admission_v1.AdmissionResponse{Allowed: a.Admitted, Warnings: a.Warnings}
	for _, f := range a.Findings {
		if !f.Fails {
			out.Warnings = append(out.Warnings, f.Line())
		}
	}
	if !a.Admitted {
		out.Result = status(a)
	}
	return r.respond(out)
}

func (r review) respond(out admission_v1.AdmissionResponse) admission_v1.AdmissionReview {
	out.UID = r.UID
	return admission_v1.AdmissionReview{
		APIVersion: admission_v1.SchemeGroupVersion.String(), Kind: "AdmissionReview",
		Response: &out,
	}
}

// refusals are how API servers know the reasons.
var refusals = map[string]struct {
	code   int32
	reason meta_v1.StatusReason
}{
	RefusedInvalid:     {http.StatusUnprocessableEntity, meta_v1.StatusReasonInvalid},
	RefusedConflict:    {http.StatusConflict, meta_v1.StatusReasonConflict},
	RefusedUnready:     {http.StatusConflict, meta_v1.StatusReasonConflict},
	RefusedBudget:      {http.StatusTooManyRequests, meta_v1.StatusReasonTooManyRequests},
	RefusedUnavailable: {http.StatusServiceUnavailable, meta_v1.StatusReasonServiceUnavailable},
}

// status says in one line why a proposal is not admitted, with all causes beside it.
func status(a Admission) *meta_v1.Status {
	known := refusals[a.Reason]
	out := &meta_v1.Status{Status: meta_v1.StatusFailure, Code: cmp.Or(known.code, http.StatusForbidden), Reason: known.reason, Message: a.Message}
	details := meta_v1.StatusDetails{RetryAfterSeconds: int32(seconds(a.RetryAfter))}
	for _, f := range a.Findings {
		if f.Fails {
			details.Causes = append(details.Causes, meta_v1.StatusCause{Type: meta_v1.CauseType(f.Step.Reason), Field: f.Step.Field, Message: f.Line()})
		}
	}
	if n := len(details.Causes); n > 0 {
		first := details.Causes[0].Message
		if n > 1 {
			first = fmt.Sprintf("%s (and %d more)", first, n-1)
		}
		if out.Message != "" {
			first = out.Message + ": " + first
		}
		out.Message = first
	}
	if len(details.Causes) > 0 || details.RetryAfterSeconds > 0 {
		out.Details = &details
	}
	return out
}
