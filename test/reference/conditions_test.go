package reference

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// subject is what conditions are about.
type subject string

const (
	classSubject    subject = "GatewayClass"
	gatewaySubject  subject = "Gateway"
	listenerSubject subject = "Listener of a Gateway"
	parentSubject   subject = "Route, per parent"
	policySubject   subject = "BackendTLSPolicy, per Gateway"
)

// condition documents one condition of one subject. Reasons that are verdict
// reasons are explained there.
type condition struct {
	of      subject
	name    string
	holds   string // what True means
	whenYes []string
	whenNo  []string
}

func names(reasons ...verdict.Reason) []string {
	out := make([]string, len(reasons))
	for i, r := range reasons {
		out[i] = r.Name
	}
	return out
}

// conditions are all conditions that Gatehouse sets.
var conditions = []condition{
	{
		classSubject, string(gateway_v1.GatewayClassConditionStatusAccepted), "Gateways of the class are served.",
		[]string{string(gateway_v1.GatewayClassReasonAccepted)},
		names(verdict.InvalidParameters),
	},
	{
		classSubject, string(gateway_v1.GatewayClassConditionStatusSupportedVersion), "The installed version of Gateway API is supported.",
		[]string{string(gateway_v1.GatewayClassReasonSupportedVersion)},
		nil,
	},
	{
		gatewaySubject, string(gateway_v1.GatewayConditionAccepted), "At least one listener is valid. With reason ListenersNotValid, some are not.",
		[]string{string(gateway_v1.GatewayReasonAccepted), verdict.ListenersNotValid.Name},
		names(verdict.ListenersNotValid, verdict.InvalidParameters, verdict.UnsupportedAddress),
	},
	{
		gatewaySubject, string(gateway_v1.GatewayConditionProgrammed), "At least one listener is programmed.",
		[]string{string(gateway_v1.GatewayReasonProgrammed)},
		[]string{string(gateway_v1.GatewayReasonInvalid), string(gateway_v1.GatewayReasonPending), string(gateway_v1.GatewayReasonAddressNotUsable), string(gateway_v1.GatewayReasonAddressNotAssigned)},
	},
	{
		gatewaySubject, string(gateway_v1.GatewayConditionAddressesAssigned), "Every address that asks for a routability is assigned; none is here.",
		nil,
		[]string{string(gateway_v1.GatewayReasonAddressesNotAssigned), string(gateway_v1.GatewayReasonAddressesPartiallyAssigned)},
	},
	{
		gatewaySubject, "DefaultGateway", "Routes that ask for a default Gateway of its scope attach without naming it.",
		[]string{"DefaultGateway"},
		nil,
	},
	{
		gatewaySubject, string(gateway_v1.GatewayConditionResolvedRefs), "The certificate that the Gateway shows to backends can be used.",
		[]string{string(gateway_v1.GatewayReasonResolvedRefs)},
		names(verdict.InvalidClientCertificateRef, verdict.RefNotPermitted),
	},
	{
		gatewaySubject, string(gateway_v1.GatewayConditionInsecureFrontendValidationMode), "Clients are let in whose certificates cannot be verified, as a listener wants it.",
		[]string{string(gateway_v1.GatewayReasonConfigurationChanged)},
		nil,
	},
	{
		listenerSubject, string(gateway_v1.ListenerConditionAccepted), "The listener is valid and belongs to the configuration.",
		[]string{string(gateway_v1.ListenerReasonAccepted)},
		names(verdict.PortUnavailable, verdict.UnsupportedProtocol, verdict.UnsupportedValue, verdict.ProtocolConflict, verdict.HostnameConflict, verdict.NoValidCACertificate, verdict.InvalidListenerFilter),
	},
	{
		listenerSubject, string(gateway_v1.ListenerConditionProgrammed),
		"Every proxy acknowledged the listener, none is warming it, and a connection to its address succeeds.",
		[]string{string(gateway_v1.ListenerReasonProgrammed)},
		[]string{
			string(gateway_v1.ListenerReasonInvalid), string(gateway_v1.ListenerReasonPending), verdict.PortUnavailable.Name,
			verdict.ProtocolConflict.Name, verdict.HostnameConflict.Name,
		},
	},
	{
		listenerSubject, string(gateway_v1.ListenerConditionResolvedRefs), "Certificates, services of filters and route kinds that it names exist and can be used.",
		[]string{string(gateway_v1.ListenerReasonResolvedRefs)},
		names(verdict.InvalidCertificateRef, verdict.InvalidRouteKinds, verdict.RefNotPermitted, verdict.InvalidCACertificateRef, verdict.InvalidCACertificateKind, verdict.InvalidListenerFilterRef),
	},
	{
		listenerSubject, string(gateway_v1.ListenerConditionConflicted), "Another listener wants the same: neither serves.",
		names(verdict.HostnameConflict, verdict.ProtocolConflict),
		[]string{string(gateway_v1.ListenerReasonNoConflicts)},
	},
	{
		listenerSubject, string(gateway_v1.ListenerConditionOverlappingTLSConfig),
		"Host names of listeners on one port cover each other; requests for the wrong one answer 421.",
		names(verdict.OverlappingHostnames), nil,
	},
	{
		parentSubject, string(gateway_v1.RouteConditionAccepted), "The route is attached to at least one listener.",
		[]string{string(gateway_v1.RouteReasonAccepted)},
		names(verdict.NoMatchingParent, verdict.NotAllowedByListeners, verdict.NoMatchingListenerHostname, verdict.UnsupportedValue,
			verdict.IncompatibleFilters),
	},
	{
		parentSubject, string(gateway_v1.RouteConditionResolvedRefs), "Every backend exists and may be used.",
		[]string{string(gateway_v1.RouteReasonResolvedRefs)},
		names(verdict.BackendNotFound, verdict.InvalidKind, verdict.RefNotPermitted, verdict.UnsupportedProtocol,
			verdict.InvalidCACertificateRef, verdict.NoValidCACertificate),
	},
	{
		parentSubject, string(gateway_v1.RouteConditionPartiallyInvalid), "Some rules are invalid and others are not: those are dropped (`Dropped Rule …`), or the accepted revision, which had none such, stays in force (`Fall Back …`).",
		names(verdict.UnsupportedValue), nil,
	},
	{
		policySubject, string(gateway_v1.PolicyConditionAccepted), "Backends of the Gateway are verified by the policy.",
		[]string{string(gateway_v1.PolicyReasonAccepted)},
		[]string{verdict.Conflicted.Name, verdict.NoValidCACertificate.Name, string(gateway_v1.PolicyReasonInvalid)},
	},
	{
		policySubject, string(gateway_v1.BackendTLSPolicyConditionResolvedRefs), "Every authority that it names can be used.",
		[]string{string(gateway_v1.BackendTLSPolicyReasonResolvedRefs)},
		names(verdict.InvalidCACertificateRef, verdict.InvalidKind),
	},
}

func conditionsPage(*testing.T) []byte {
	m := &markdown{}
	m.text("# Conditions")
	m.text("`gatehouse status KIND NAMESPACE/NAME -o yaml` prints them. Each has the generation that it speaks of. What a reason means and what to do is in [verdict reasons](verdict-reasons.md), or in the Gateway API reference for words such as Pending.")
	for _, of := range []subject{classSubject, gatewaySubject, listenerSubject, parentSubject, policySubject} {
		m.text("## %s", of)
		m.head("condition", "True means", "reasons when True", "reasons when False")
		for _, c := range conditions {
			if c.of == of {
				m.row(code(c.name), c.holds, reasonList(c.whenYes), reasonList(c.whenNo))
			}
		}
		m.gap()
	}
	return m.Bytes()
}

func reasonList(reasons []string) string {
	sorted := slices.Sorted(slices.Values(reasons))
	for i := range sorted {
		sorted[i] = code(sorted[i])
	}
	if len(sorted) == 0 {
		return "is not set otherwise"
	}
	return strings.Join(sorted, ", ")
}

// scenarioFiles returns the text of every scenario by its path from the repository's root.
func scenarioFiles(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, pattern := range []string{"../../test/scenarios/*.txtar", "../../test/scenarios/*/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.ToSlash(strings.TrimPrefix(path, "../../"))] = text
		}
	}
	return out
}

// seen is one condition as a scenario shows it.
type seen struct{ Type, Status, Reason string }

// TestConditionsOfScenariosAreDocumented holds the table to what is really set.
func TestConditionsOfScenariosAreDocumented(t *testing.T) {
	total := 0
	for path, text := range scenarioFiles(t) {
		for _, doc := range statusDocuments(text) {
			for of, all := range conditionsOf(t, doc) {
				total += len(all)
				for _, c := range all {
					if !documented(of, c) {
						t.Errorf("%s: %s has condition %s=%s with reason %s, which the reference does not list",
							path, of, c.Type, c.Status, c.Reason)
					}
				}
			}
		}
	}
	if total == 0 {
		t.Error("no scenario shows a condition")
	}
}

func documented(of subject, s seen) bool {
	return slices.ContainsFunc(conditions, func(c condition) bool {
		reasons := c.whenYes
		if s.Status == "False" {
			reasons = c.whenNo
		}
		return c.of == of && c.name == s.Type && slices.Contains(reasons, s.Reason)
	})
}

// document is the status of one object in a scenario: "# Kind ns/name", then YAML.
type document struct{ kind, body string }

func statusDocuments(text []byte) []document {
	_, section, found := bytes.Cut(text, []byte("\n-- status"))
	if !found {
		return nil
	}
	section, _, _ = bytes.Cut(section, []byte("\n-- "))
	var out []document
	for part := range strings.SplitSeq(string(section), "\n# ") {
		head, body, _ := strings.Cut(part, "\n")
		kind, _, named := strings.Cut(head, " ")
		if named && !strings.Contains(head, "--") {
			out = append(out, document{kind: kind, body: body})
		}
	}
	return out
}

func conditionsOf(t *testing.T, d document) map[subject][]seen {
	t.Helper()
	var status struct {
		Conditions []seen
		Listeners  []struct{ Conditions []seen }
		Parents    []struct{ Conditions []seen }
	}
	if err := yaml.Unmarshal([]byte(d.body), &status); err != nil {
		t.Fatal(fmt.Errorf("status of %s: %w", d.kind, err))
	}
	out := map[subject][]seen{}
	switch d.kind {
	case "GatewayClass":
		out[classSubject] = status.Conditions
	case "Gateway":
		out[gatewaySubject] = status.Conditions
	}
	for _, l := range status.Listeners {
		out[listenerSubject] = append(out[listenerSubject], l.Conditions...)
	}
	for _, p := range status.Parents {
		out[parentSubject] = append(out[parentSubject], p.Conditions...)
	}
	return out
}
