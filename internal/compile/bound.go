package compile

import (
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// bound is one address and port that a Gateway serves on, before it is known
// where its TCP connections go.
type bound struct {
	Listener model.Listener
	Section  string // "gateway|listener" of a TCP listener
}

// key is the listener's key in the model: "namespace/name/address/port".
func (l bound) key() string { return listenerKey(l.Listener) }

func listenerKey(l model.Listener) string {
	return string(l.Gateway) + "/" + bindKey(l.Address, l.Port)
}

// boundItems are the bound ports of one Gateway.
func boundItems(_ *derive.Ctx, _ string, s served) []derive.Item[bound] {
	var items []derive.Item[bound]
	for _, p := range s.Ports {
		for _, address := range p.Addresses {
			l := bound{Listener: model.Listener{
				Gateway: s.ID, Address: address, Port: p.Number, Protocol: p.Protocol, Chains: p.Chains,
				Origins: s.origins(),
			}}
			switch p.Protocol {
			case model.HTTP:
				l.Listener.Table = p.Sections[0].table()
			case model.TCP:
				l.Section = sectionKey(s.ID, p.Sections[0].Name)
			case model.HTTPS: // its chains have the tables
			}
			items = append(items, derive.Item[bound]{Key: bindKey(address, p.Number), Value: l})
		}
	}
	return items
}

// origins are the objects that every listener of a Gateway rests on.
func (s served) origins() []model.Ref {
	out := []model.Ref{{Collection: kindGateway, Name: string(s.ID)}}
	for _, config := range s.Configs {
		out = append(out, model.Ref{Collection: "GatewayConfig", Name: config})
	}
	return out
}

// listener completes a bound port by where its TCP connections go.
func (b *build) listener(c *derive.Ctx, key string) (model.Listener, bool) {
	at := derive.First(c, b.boundByKey, key, 1)[0].Value
	out := at.Listener
	if at.Section == "" {
		return out, true
	}
	if s, attached := derive.Get(c, b.streams, at.Section); attached {
		out.Stream = s.Forward
		out.Origins = append([]model.Ref{{Collection: kindTCPRoute, Name: s.Route}}, out.Origins...)
	}
	return out, true
}
