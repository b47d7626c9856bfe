package fakegce

import (
	"fmt"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"
)

// machine is an instance. Its state is worked out when somebody looks.
type machine struct {
	it            *computepb.Instance // as inserted
	project, zone string
	foreign       bool
	accepted      time.Time
	deleted       time.Time // zero unless it is being deleted
	stopped       bool
	status        string // overrides
	internal, nat string
	op            *operation
}

// operation is one that was accepted.
type operation struct {
	name, kind, project, zone, target string
	accepted, ends                    time.Time
	code                              string // of the error that it ends with; empty if well
	message                           string
	status                            int32
}

// request is what a request ID was used for.
type request struct {
	body string
	op   *operation
}

// place adds an instance that was accepted now. The lock is held.
func (c *Cloud) place(project, zone string, it *computepb.Instance) *machine {
	c.serial++
	m := &machine{
		it: it, project: project, zone: zone, accepted: c.o.Now(),
		internal: fmt.Sprintf("10.132.%d.%d", c.serial/250%250, c.serial%250+2),
		nat:      c.freshAddress(),
	}
	c.machines[path(project, zone, it.GetName())] = m
	return m
}

// freshAddress was never given to anybody, and leads nowhere but to this machine: fleets
// under test probe it.
func (c *Cloud) freshAddress() string {
	c.serial++
	return fmt.Sprintf("127.18.%d.%d", c.serial/250%250, c.serial%250+2)
}

func path(project, zone, name string) string {
	return "projects/" + project + "/zones/" + zone + "/instances/" + name
}

// settle forgets the instances that have gone. The lock is held.
func (c *Cloud) settle() {
	now := c.o.Now()
	for at, m := range c.machines {
		if !m.deleted.IsZero() && !c.o.NoEnd && !now.Before(m.deleted.Add(c.o.GoneAfter)) {
			delete(c.machines, at)
		}
		if m.op != nil && m.op.code != "" && !now.Before(m.op.ends) {
			delete(c.machines, at)
		}
	}
}

// visible is false for one whose create will fail: the service never shows it.
func (m *machine) visible() bool { return m.op == nil || m.op.code == "" }

// view is what the service says of an instance.
func (m *machine) view(o Options) *computepb.Instance {
	now := o.Now()
	out := proto.CloneOf(m.it)
	out.Zone = new("https://www.googleapis.com/compute/v1/projects/" + m.project + "/zones/" + m.zone)
	out.SelfLink = new("https://www.googleapis.com/compute/v1/" + path(m.project, m.zone, m.it.GetName()))
	out.CreationTimestamp = new(m.accepted.Add(o.Skew).Format(time.RFC3339Nano))
	out.Status = new(m.state(o, now))
	if len(out.GetNetworkInterfaces()) == 0 {
		return out
	}
	nic := out.GetNetworkInterfaces()[0]
	nic.Name, nic.NetworkIP = new("nic0"), new(m.internal)
	if out.GetStatus() == "RUNNING" && !o.NoAddress && !now.Before(m.accepted.Add(o.RunAfter+o.AddressAfter)) {
		for _, access := range nic.GetAccessConfigs() {
			access.NatIP = new(m.nat)
		}
	}
	return out
}

func (m *machine) state(o Options, now time.Time) string {
	age := now.Sub(m.accepted)
	switch {
	case !m.deleted.IsZero():
		return "STOPPING"
	case m.status != "":
		return m.status
	case m.stopped:
		return "TERMINATED"
	case age >= o.RunAfter:
		return "RUNNING"
	case age >= o.StageAfter:
		return "STAGING"
	}
	return "PROVISIONING"
}

// begin notes an operation. The lock is held.
func (c *Cloud) begin(kind, project, zone, target string, lasts time.Duration) *operation {
	c.serial++
	now := c.o.Now()
	op := &operation{
		name: fmt.Sprintf("operation-%06d", c.serial), kind: kind, project: project, zone: zone, target: target,
		accepted: now, ends: now.Add(lasts),
	}
	c.operations["projects/"+project+"/zones/"+zone+"/operations/"+op.name] = op
	return op
}

// view is what the service says of an operation. One is never over when it is accepted.
func (op *operation) view(o Options, fresh bool) *computepb.Operation {
	now := o.Now()
	out := &computepb.Operation{
		Name: new(op.name), OperationType: new(op.kind), Status: computepb.Operation_RUNNING.Enum(),
		TargetLink: new("https://www.googleapis.com/compute/v1/" + op.target),
		InsertTime: new(op.accepted.Add(o.Skew).Format(time.RFC3339Nano)), Zone: new(op.zone),
	}
	if fresh || now.Before(op.ends) {
		return out
	}
	out.Status, out.EndTime = computepb.Operation_DONE.Enum(), new(op.ends.Add(o.Skew).Format(time.RFC3339Nano))
	if op.code != "" {
		out.Error = &computepb.Error{Errors: []*computepb.Errors{{Code: new(op.code), Message: new(op.message)}}}
		out.HttpErrorStatusCode, out.HttpErrorMessage = new(op.status), new("FAILED")
	}
	return out
}
