package fakegce

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func missing(resource string) *failure {
	return &failure{http.StatusNotFound, "notFound", "The resource '" + resource + "' was not found"}
}

// scope checks that a call's project and zone exist.
func (c *Cloud) scope(call Call) *failure {
	if !slices.Contains(c.o.Projects, call.Project) {
		return missing("projects/" + call.Project)
	}
	if call.Zone != "" && !slices.Contains(c.o.Zones, call.Zone) {
		return &failure{http.StatusBadRequest, "invalid", "Invalid value for field 'zone': '" + call.Zone + "'. Unknown zone."}
	}
	return nil
}

func (c *Cloud) insert(call Call) (proto.Message, *failure) {
	if bad := c.scope(call); bad != nil {
		return nil, bad
	}
	it := &computepb.Instance{}
	if err := protojson.Unmarshal(call.body, it); err != nil {
		return nil, &failure{http.StatusBadRequest, "parseError", "Parse Error: " + err.Error()}
	}
	if again := c.requests[call.RequestID]; call.RequestID != "" && again != nil {
		if again.body != string(call.body) {
			return nil, &failure{http.StatusBadRequest, "invalid", "Invalid value for field 'requestId': '" + call.RequestID + "'. It was used for another request."}
		}
		return again.op.view(c.o, false), nil
	}
	at := path(call.Project, call.Zone, it.GetName())
	if c.machines[at] != nil {
		return nil, &failure{http.StatusConflict, "alreadyExists", "The resource '" + at + "' already exists"}
	}
	if bad := c.allowed(call, it); bad != nil {
		return nil, bad
	}
	c.twins(call, it)
	m := c.place(call.Project, call.Zone, it)
	m.op = c.begin("insert", call.Project, call.Zone, at, c.o.RunAfter)
	if call.RequestID != "" {
		c.requests[call.RequestID] = &request{body: string(call.body), op: m.op}
	}
	return m.op.view(c.o, true), nil
}

var nameForm = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// allowed is what the service checks of an instance.
func (c *Cloud) allowed(call Call, it *computepb.Instance) *failure {
	invalid := func(field, value, why string) *failure {
		return &failure{http.StatusBadRequest, "invalid", fmt.Sprintf("Invalid value for field '%s': '%s'. %s", field, value, why)}
	}
	switch {
	case !nameForm.MatchString(it.GetName()):
		return invalid("resource.name", it.GetName(), "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'")
	case len(it.GetDisks()) == 0:
		return invalid("resource.disks", "", "No disks are specified.")
	case len(it.GetNetworkInterfaces()) == 0:
		return invalid("resource.networkInterfaces", "", "At least one network interface is required.")
	case !strings.HasPrefix(it.GetMachineType(), "zones/"+call.Zone+"/machineTypes/"):
		return invalid("resource.machineType", it.GetMachineType(), "The URL is malformed.")
	case strings.HasSuffix(it.GetMachineType(), "/nonexistent"):
		return invalid("resource.machineType", it.GetMachineType(), "Machine type with name 'nonexistent' does not exist in zone '"+call.Zone+"'.")
	}
	if image := it.GetDisks()[0].GetInitializeParams().GetSourceImage(); strings.HasSuffix(image, "/nonexistent") {
		return missing(image)
	}
	return c.withinQuota(call)
}

func (c *Cloud) withinQuota(call Call) *failure {
	n := 0
	for _, m := range c.machines {
		if m.project == call.Project && !m.foreign {
			n++
		}
	}
	if c.o.Quota > 0 && n >= c.o.Quota {
		return &failure{QuotaNow.Status, QuotaNow.Reason, fmt.Sprintf("Quota 'INSTANCES' exceeded.  Limit: %d.0 in region europe-west1.", c.o.Quota)}
	}
	return nil
}

// twins notes a second instance of one UID and hash while the first one lives. The
// labels are those of the fleet.
func (c *Cloud) twins(call Call, it *computepb.Instance) {
	const uid, hash = "proxy-operator-uid", "proxy-operator-hash"
	for at, m := range c.machines {
		if m.deleted.IsZero() && m.visible() && m.it.GetLabels()[uid] == it.GetLabels()[uid] && m.it.GetLabels()[hash] == it.GetLabels()[hash] && it.GetLabels()[uid] != "" {
			c.breach("two instances of one UID and hash:", at, path(call.Project, call.Zone, it.GetName()))
		}
	}
}

// find is an instance that the service shows.
func (c *Cloud) find(call Call) (*machine, *failure) {
	if bad := c.scope(call); bad != nil {
		return nil, bad
	}
	at := path(call.Project, call.Zone, call.Name)
	if m := c.machines[at]; m != nil && m.visible() {
		return m, nil
	}
	return nil, missing(at)
}

func (c *Cloud) get(call Call) (proto.Message, *failure) {
	m, bad := c.find(call)
	if bad != nil {
		return nil, bad
	}
	return m.view(c.o), nil
}

func (c *Cloud) delete(call Call) (proto.Message, *failure) {
	m, bad := c.find(call)
	if bad != nil {
		return nil, bad
	}
	if m.foreign && m.it.GetLabels()["proxy-operator-uid"] == "" {
		c.breach("a foreign instance was deleted:", call.Path)
	}
	if m.deleted.IsZero() {
		m.deleted = c.o.Now()
	}
	return c.begin("delete", call.Project, call.Zone, path(call.Project, call.Zone, call.Name), c.o.GoneAfter).view(c.o, true), nil
}

func (c *Cloud) operation(call Call) (proto.Message, *failure) {
	at := "projects/" + call.Project + "/zones/" + call.Zone + "/operations/" + call.Name
	op := c.operations[at]
	if op == nil {
		return nil, missing(at)
	}
	return op.view(c.o, false), nil
}

func (c *Cloud) list(call Call) (proto.Message, *failure) {
	if bad := c.scope(call); bad != nil {
		return nil, bad
	}
	q, err := parseList(call.Query)
	if err != nil {
		return nil, &failure{http.StatusBadRequest, "invalid", err.Error()}
	}
	if len(c.unreachable) > 0 && !q.partial {
		return nil, &failure{http.StatusServiceUnavailable, "backendError", "A scope is unreachable."}
	}
	return c.page(call.Project, q), nil
}

// page is the part of a list that a token points to.
func (c *Cloud) page(project string, q query) *computepb.InstanceAggregatedList {
	out := &computepb.InstanceAggregatedList{Items: map[string]*computepb.InstancesScopedList{}}
	for _, zone := range c.o.Zones {
		scope := &computepb.InstancesScopedList{Warning: &computepb.Warning{Code: new("NO_RESULTS_ON_PAGE"), Message: new("There are no results for scope 'zones/" + zone + "' on this page.")}}
		switch c.unreachable["zones/"+zone] {
		case AsWarning:
			scope.Warning = &computepb.Warning{Code: new("UNREACHABLE"), Message: new("The scope 'zones/" + zone + "' was not reachable.")}
		case AsListed:
			out.Unreachables = append(out.Unreachables, "https://www.googleapis.com/compute/v1/projects/"+project+"/zones/"+zone)
			continue
		}
		out.Items["zones/"+zone] = scope
	}
	matches := c.matches(project, q)
	size := q.most
	if c.o.PageSize > 0 && (size == 0 || c.o.PageSize < size) {
		size = c.o.PageSize
	}
	from := q.from
	if c.o.EmptyPage {
		if from--; from < 0 {
			from, size = 0, 0
		}
	}
	to := len(matches)
	if size > 0 || q.from == 0 && c.o.EmptyPage {
		to = min(from+size, to)
	}
	for _, m := range matches[min(from, to):to] {
		scope := out.GetItems()["zones/"+m.zone]
		scope.Warning, scope.Instances = nil, append(scope.Instances, m.view(c.o))
	}
	if to < len(matches) {
		out.NextPageToken = new(strconv.Itoa(q.from + max(to-from, 1)))
	}
	return out
}

// matches are the instances that a list has, in its order.
func (c *Cloud) matches(project string, q query) []*machine {
	out := []*machine{}
	for _, at := range slices.Sorted(maps.Keys(c.machines)) {
		m := c.machines[at]
		if m.project != project || !m.visible() || c.unreachable["zones/"+m.zone] != AsNothing || !q.matches(m.it.GetLabels()) {
			continue
		}
		out = append(out, m)
		if c.o.Repeat {
			out = append(out, m)
		}
	}
	return out
}
