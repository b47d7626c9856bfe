package compile

import (
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	gatehouse_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/gateway/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// class is what a GatewayClass means to its Gateways.
type class struct {
	// Managed tells that the class names this controller.
	Managed bool
	// Problem is why no Gateway of the class is accepted.
	Problem *problem
	// Config is the GatewayConfig that the class refers to, or empty.
	Config   string
	Settings gatehouse_v1alpha1.GatewayConfigSpec
}

// readClass derives the meaning of a GatewayClass.
func (b *build) readClass(c *derive.Ctx, _ string, object *gateway_v1.GatewayClass) (class, bool) {
	out := class{Managed: string(object.Spec.ControllerName) == b.ControllerName}
	ref := object.Spec.ParametersRef
	if !out.Managed || ref == nil {
		return out, true
	}
	to := target{string(ref.Group), string(ref.Kind), string(orElse(ref.Namespace, "")), ref.Name}
	out.Config = to.name()
	out.Settings, out.Problem = b.parameters(c, to, "spec.parametersRef")
	return out, true
}

// parameters reads the GatewayConfig that a parametersRef names.
func (b *build) parameters(c *derive.Ctx, to target, field string) (gatehouse_v1alpha1.GatewayConfigSpec, *problem) {
	var none gatehouse_v1alpha1.GatewayConfigSpec
	switch {
	case !to.is(gatehouse_v1alpha1.Group, kindGatewayConfig):
		return none, problemf(verdict.InvalidParameters, field, "%s of group %q is no GatewayConfig of group %q", to.Kind, to.Group, gatehouse_v1alpha1.Group)
	case to.Namespace == "":
		return none, problemf(verdict.InvalidParameters, field, "GatewayConfigs have a namespace: set %s.namespace", field)
	}
	found, ok := derive.Get(c, b.configs, to.name())
	switch {
	case !ok:
		return none, problemf(verdict.InvalidParameters, field, "GatewayConfig %s does not exist", to.name()).about(to.key())
	case found.Problem != nil:
		return none, problemf(verdict.InvalidParameters, field, "GatewayConfig %s: %s", to.name(), found.Problem.sentence()).about(to.key())
	}
	return found.Spec, nil
}

// classFinding decides over a GatewayClass.
func (b *build) classFinding(c *derive.Ctx, key string, object *gateway_v1.GatewayClass) (Finding, bool) {
	at, _ := derive.Get(c, b.classOf, key)
	self := store.Key{Collection: kindGatewayClass, Name: key}
	if !at.Managed {
		return exclude(self, problemf(verdict.OtherController, "spec.controllerName",
			"%q is another controller; this one is %q", object.Spec.ControllerName, b.ControllerName)), true
	}
	status := conditions{generation: object.Generation}
	status.judge(typeAccepted, string(gateway_v1.GatewayClassReasonAccepted), "Gateways of this class are served", at.Problem)
	status.yes(string(gateway_v1.GatewayClassConditionStatusSupportedVersion), string(gateway_v1.GatewayClassReasonSupportedVersion), "Gateway API v1.7")
	finding := b.classUse(c, self, at)
	finding.Status = &Status{Conditions: status.list, SupportedFeatures: SupportedFeatures()}
	return finding, true
}

func (b *build) classUse(c *derive.Ctx, self store.Key, at class) Finding {
	switch {
	case at.Problem != nil:
		return exclude(self, at.Problem)
	case !derive.Exists(c, b.residentsByClass, self.Name):
		return exclude(self, problemf(verdict.NotReferenced, "", "no accepted Gateway has the class"))
	default:
		return serve(self, ok(verdict.Referenced, "accepted Gateways have the class"))
	}
}
