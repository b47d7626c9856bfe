package compile

import (
	"slices"
	"strings"

	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// readSpans reads which requests are traced, and what their spans say. New traces
// are all sampled unless a rate is given, and those of others as they are.
func readSpans(spec gateway_xv1alpha1.TracingConfig) (*model.Tracing, *problem) {
	const field = "spec.tracing"
	out := &model.Tracing{Service: spec.ServiceName, Span: spec.SpanName, Millionths: million, Parents: true}
	var why *problem
	if spec.SamplingRate != nil {
		out.Millionths, why = readFraction(field+".samplingRate", *spec.SamplingRate)
	}
	why = first(why, readParents(field+".parentBasedSampling", spec.ParentBasedSampling, out))
	for i, h := range spec.Provider.Headers {
		at := indexed(field+".provider.headers", i)
		why = first(why,
			faulty(at+".name", string(h.Name), model.HeaderNameFault(string(h.Name))),
			faulty(at+".value", h.Value, model.HeaderValueFault(h.Value)))
		if strings.Contains(h.Value, "%") {
			why = first(why, problemf(verdict.UnsupportedValue, at+".value", "the value of %s has a %%, which cannot be sent", h.Name))
		}
		out.Headers = append(out.Headers, model.Header{Name: strings.ToLower(string(h.Name)), Value: h.Value})
	}
	for i, a := range spec.Attributes {
		attribute, problem := readAttribute(indexed(field+".attributes", i), a)
		why = first(why, problem)
		if attribute.Source != model.FromStandard || knownAttribute(attribute.Value) {
			out.Attributes = append(out.Attributes, attribute)
		}
	}
	return out, why
}

// readParents reads whether the decision of whoever began a trace counts.
func readParents(field string, spec gateway_xv1alpha1.ParentBasedSampling, out *model.Tracing) *problem {
	switch spec.Mode {
	case gateway_xv1alpha1.ParentBasedSamplingModeEnabled, gateway_xv1alpha1.ParentBasedSamplingModeImplementationDefault, "":
	case gateway_xv1alpha1.ParentBasedSamplingModeDisabled:
		out.Parents = false
	default:
		return problemf(verdict.UnsupportedValue, field+".mode", "%q: must be Enabled, Disabled or ImplementationDefault", spec.Mode)
	}
	if spec.SamplingRate == nil {
		return nil
	}
	rate, why := readFraction(field+".samplingRate", *spec.SamplingRate)
	if why == nil && rate != million {
		why = problemf(verdict.UnsupportedValue, field+".samplingRate", "%d/%d: traces that others began are followed in full here; leave the rate out, or disable parent-based sampling",
			spec.SamplingRate.Numerator, orElse(spec.SamplingRate.Denominator, 100))
	}
	return why
}

func readAttribute(field string, spec gateway_xv1alpha1.Attribute) (model.SpanAttribute, *problem) {
	out := model.SpanAttribute{Name: string(spec.Name)}
	var why *problem
	switch spec.SourceType {
	case gateway_xv1alpha1.AttributeSourceLiteral:
		out.Source, out.Value = model.FromText, spec.LiteralValue
	case gateway_xv1alpha1.AttributeSourceHeader:
		out.Source, out.Value = model.FromHeader, strings.ToLower(string(spec.HeaderName))
		why = faulty(field+".headerName", string(spec.HeaderName), model.HeaderNameFault(out.Value))
	case gateway_xv1alpha1.AttributeSourceAttribute:
		out.Source, out.Value = model.FromStandard, spec.AttributeKey
	default:
		why = problemf(verdict.UnsupportedValue, field+".sourceType", "%q: must be Header, Literal or Attribute", spec.SourceType)
	}
	if out.Name == "" || out.Value == "" {
		why = first(why, problemf(verdict.UnsupportedValue, field, "%q: must have a name and a value", spec.Name))
	}
	return out, why
}

// unknownAttributes are attributes that spans lack: those of Gateway API's
// dictionary that a proxy cannot tell, and all others.
func unknownAttributes(spec gateway_xv1alpha1.TracingConfig) []*problem {
	var out []*problem
	for i, a := range spec.Attributes {
		if a.SourceType == gateway_xv1alpha1.AttributeSourceAttribute && !knownAttribute(a.AttributeKey) {
			out = append(out, problemf(verdict.NoEffect, indexed("spec.tracing.attributes", i)+".attributeKey", "%q is left out of spans: nothing here can tell it", a.AttributeKey))
		}
	}
	return out
}

// knownAttribute tells whether a key of OpenTelemetry can be told of a request.
func knownAttribute(key string) bool {
	if model.HeaderOfAttribute(key) != "" {
		return true
	}
	return slices.Contains(model.StandardAttributes, key)
}
