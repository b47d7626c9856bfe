package index

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// port is the one of a Service that sessions go to.
type port struct {
	name   string
	number uint16 // of the Service
	target uint16 // of endpoints whose slice says nothing else; 0 where only the slice knows
	direct bool   // endpoints are dialled at number, whatever their slices list
}

// choosePort finds it: the one that the label says, else the one named postgres or
// postgresql, else the first.
func choosePort(s *core_v1.Service) (port, Problem) {
	ports := slices.DeleteFunc(slices.Clone(s.Spec.Ports), func(p core_v1.ServicePort) bool {
		return p.Protocol != core_v1.ProtocolTCP && p.Protocol != ""
	})
	if label, ok := s.Labels[labelPort]; ok {
		return labelledPort(s, ports, label)
	}
	i := slices.IndexFunc(ports, func(p core_v1.ServicePort) bool { return p.Name == "postgres" || p.Name == "postgresql" })
	switch {
	case len(ports) == 0:
		return port{}, Problem{Reason: NoPort, Message: "has no TCP port; add one, or name it in the label " + labelPort}
	case i < 0:
		i = 0
	}
	return portOf(ports[i]), Problem{}
}

func labelledPort(s *core_v1.Service, ports []core_v1.ServicePort, label string) (port, Problem) {
	number, err := strconv.ParseUint(label, 10, 16)
	if err != nil || number == 0 {
		return port{}, Problem{Reason: InvalidPort, Message: fmt.Sprintf("has label %s=%q; it must be a number from 1 to 65535", labelPort, label)}
	}
	for _, p := range ports {
		if p.Port == int32(number) {
			return portOf(p), Problem{}
		}
	}
	if s.Spec.ClusterIP == core_v1.ClusterIPNone || s.Spec.Type == core_v1.ServiceTypeExternalName {
		return port{number: uint16(number), direct: true}, Problem{} // nothing maps ports there
	}
	return port{}, Problem{
		Reason:  InvalidPort,
		Message: fmt.Sprintf("has label %s=%q, which is none of its TCP ports: %s", labelPort, label, listed(ports)),
	}
}

func portOf(p core_v1.ServicePort) port {
	out := port{name: p.Name, number: uint16(p.Port), target: uint16(p.Port)}
	switch {
	case p.TargetPort.Type == intstr.String:
		out.target = 0
	case p.TargetPort.IntVal != 0:
		out.target = uint16(p.TargetPort.IntVal)
	}
	return out
}

func listed(ports []core_v1.ServicePort) string {
	if len(ports) == 0 {
		return "it has none"
	}
	var out []string
	for _, p := range ports {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s", p.Port, p.Name)))
	}
	return strings.Join(out, ", ")
}

// portIn is where the endpoints of a slice are dialled; 0 if they are not: the slice is
// of another address family, or lists no port of that name.
func (d dial) portIn(s *slice) uint16 {
	if d.family != "" && s.family != d.family {
		return 0
	}
	if d.port.direct {
		return d.port.number
	}
	for _, p := range s.ports {
		switch {
		case p.name != d.port.name:
		case p.number != 0:
			return p.number
		default:
			return d.port.target
		}
	}
	return 0
}
