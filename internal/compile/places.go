package compile

import (
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// tableID names the route table of a listener, which is known by its id: one for a
// plain HTTP port, one for each HTTPS listener.
func tableID(g model.GatewayID, port uint16, protocol model.Protocol, listener string) model.TableID {
	id := string(g) + "/" + strconv.Itoa(int(port))
	if protocol == model.HTTPS {
		id += "/" + listener
	}
	return model.TableID(id)
}

// place is one domain of one table where an HTTPRoute or GRPCRoute serves.
type place struct {
	Section section
	Meeting meeting
	Route   string // "Kind namespace/name"
	// Selection is the namespace selection that lets the route in, or empty.
	Selection string
}

func (p place) table() model.TableID { return p.Section.table() }

// host is the bucket of the place: every place of one host name of one table.
func (p place) host() string { return hostKey(p.table(), p.Meeting.Domain) }

func hostKey(table model.TableID, domain string) string { return string(table) + "|" + domain }

// places are where a route serves: at listeners that are accepted. A domain has one
// listener, so that a route that names it by two parentRefs has one place there: the
// one by the host name that goes first.
func places(_ *derive.Ctx, route string, a attachment) []derive.Item[place] {
	best := map[string]place{}
	for _, p := range a.Parents {
		for _, j := range p.Joints {
			if !j.Accepted {
				continue
			}
			for _, m := range j.Meetings {
				at := place{Section: j.section, Meeting: m, Route: route, Selection: j.Selection}
				if other, taken := best[at.host()]; !taken || compareHosts(m.Host, other.Meeting.Host) < 0 {
					best[at.host()] = at
				}
			}
		}
	}
	var items []derive.Item[place]
	for key, at := range sortedMap(best) {
		items = append(items, derive.Item[place]{Key: key, Value: at})
	}
	return items
}

// membership is one listener that an accepted route is attached to.
type membership struct {
	Section string // "gateway|listener"
}

// memberships are the listeners that a route counts for.
func (b *build) memberships(c *derive.Ctx, route string, a attachment) []derive.Item[membership] {
	if accepted, _ := derive.Get(c, b.acceptable, route); !accepted {
		return nil
	}
	return membershipsOf(a)
}

func membershipsOf(a attachment) []derive.Item[membership] {
	var keys []string
	for _, p := range a.Parents {
		for _, j := range p.Joints {
			keys = append(keys, j.key())
		}
	}
	var items []derive.Item[membership]
	for _, key := range distinct(keys) {
		items = append(items, derive.Item[membership]{Key: key, Value: membership{key}})
	}
	return items
}
