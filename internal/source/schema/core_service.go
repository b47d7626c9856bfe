package schema

import (
	"fmt"
	"net/netip"
	"slices"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func fillService(object map[string]any) {
	spec := mapAt(object, "spec")
	setDefault(spec, "type", string(core_v1.ServiceTypeClusterIP))
	setDefault(spec, "sessionAffinity", string(core_v1.ServiceAffinityNone))
	if spec["type"] != string(core_v1.ServiceTypeExternalName) {
		setDefault(spec, "internalTrafficPolicy", string(core_v1.ServiceInternalTrafficPolicyCluster))
	}
	for _, p := range mapsAt(spec, "ports") {
		setDefault(p, "protocol", string(core_v1.ProtocolTCP))
		if t, ok := p["targetPort"]; !ok || t == int64(0) || t == "" {
			p["targetPort"] = p["port"]
		}
		if p["targetPort"] == nil {
			delete(p, "targetPort") // a port without a number is refused below
		}
	}
}

var (
	serviceTypes  = []core_v1.ServiceType{core_v1.ServiceTypeClusterIP, core_v1.ServiceTypeExternalName, core_v1.ServiceTypeLoadBalancer, core_v1.ServiceTypeNodePort}
	protocols     = []core_v1.Protocol{core_v1.ProtocolSCTP, core_v1.ProtocolTCP, core_v1.ProtocolUDP}
	affinities    = []core_v1.ServiceAffinity{core_v1.ServiceAffinityClientIP, core_v1.ServiceAffinityNone}
	localPolicies = []core_v1.ServiceInternalTrafficPolicy{core_v1.ServiceInternalTrafficPolicyCluster, core_v1.ServiceInternalTrafficPolicyLocal}
)

func checkService(s *core_v1.Service) field.ErrorList {
	at := field.NewPath("spec")
	errs := oneOf(at.Child("type"), s.Spec.Type, serviceTypes)
	errs = append(errs, oneOf(at.Child("sessionAffinity"), s.Spec.SessionAffinity, affinities)...)
	if p := s.Spec.InternalTrafficPolicy; p != nil {
		errs = append(errs, oneOf(at.Child("internalTrafficPolicy"), *p, localPolicies)...)
	}
	if ip := s.Spec.ClusterIP; ip != "" && ip != core_v1.ClusterIPNone {
		if _, err := netip.ParseAddr(ip); err != nil {
			errs = append(errs, field.Invalid(at.Child("clusterIP"), ip, `must be an IP address, "None" or absent`))
		}
	}
	if s.Spec.Type == core_v1.ServiceTypeExternalName {
		errs = append(errs, checkExternalName(s, at)...)
	} else if len(s.Spec.Ports) == 0 && s.Spec.ClusterIP != core_v1.ClusterIPNone {
		errs = append(errs, field.Required(at.Child("ports"), ""))
	}
	return append(errs, checkServicePorts(s.Spec.Ports, at.Child("ports"))...)
}

func checkExternalName(s *core_v1.Service, at *field.Path) (errs field.ErrorList) {
	name := s.Spec.ExternalName
	if name == "" {
		return append(errs, field.Required(at.Child("externalName"), "a Service of type ExternalName needs a name"))
	}
	for _, why := range validation.IsDNS1123Subdomain(trimDot(name)) {
		errs = append(errs, field.Invalid(at.Child("externalName"), name, why))
	}
	return errs
}

func checkServicePorts(ports []core_v1.ServicePort, at *field.Path) (errs field.ErrorList) {
	names, numbers := map[string]bool{}, map[string]bool{}
	for i, p := range ports {
		at := at.Index(i)
		errs = append(errs, checkPort(at.Child("port"), int(p.Port))...)
		errs = append(errs, oneOf(at.Child("protocol"), p.Protocol, protocols)...)
		errs = append(errs, checkTargetPort(at.Child("targetPort"), p.TargetPort)...)
		errs = append(errs, checkPortName(at.Child("name"), p.Name, len(ports) > 1, names)...)
		if n := fmt.Sprintf("%s %d", p.Protocol, p.Port); numbers[n] {
			errs = append(errs, field.Duplicate(at, n))
		} else {
			numbers[n] = true
		}
		if p.AppProtocol != nil {
			for _, why := range validation.IsQualifiedName(*p.AppProtocol) {
				errs = append(errs, field.Invalid(at.Child("appProtocol"), *p.AppProtocol, why))
			}
		}
	}
	return errs
}

func checkPortName(at *field.Path, name string, required bool, seen map[string]bool) (errs field.ErrorList) {
	switch {
	case name == "" && required:
		return append(errs, field.Required(at, "ports need names when there are several"))
	case name == "":
		return nil
	case seen[name]:
		errs = append(errs, field.Duplicate(at, name))
	}
	seen[name] = true
	for _, why := range validation.IsDNS1123Label(name) {
		errs = append(errs, field.Invalid(at, name, why))
	}
	return errs
}

func checkTargetPort(at *field.Path, p intstr.IntOrString) (errs field.ErrorList) {
	if p.Type == intstr.Int {
		return checkPort(at, p.IntValue())
	}
	for _, why := range validation.IsValidPortName(p.StrVal) {
		errs = append(errs, field.Invalid(at, p.StrVal, why))
	}
	return errs
}

func checkPort(at *field.Path, port int) (errs field.ErrorList) {
	if port < 1 || port > 65535 {
		errs = append(errs, field.Invalid(at, port, "must be between 1 and 65535"))
	}
	return errs
}

func oneOf[T ~string](at *field.Path, value T, allowed []T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, value, allowed)}
}

func trimDot(name string) string {
	if n := len(name); n > 0 && name[n-1] == '.' {
		return name[:n-1]
	}
	return name
}
