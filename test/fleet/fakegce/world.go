package fakegce

import (
	"fmt"

	"cloud.google.com/go/compute/apiv1/computepb"
)

// Place adds a running instance that nobody asked for through the API: somebody else's,
// or a second one with the same labels.
func (c *Cloud) Place(project, zone, name string, labels map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.place(project, zone, &computepb.Instance{
		Name: new(name), Labels: labels,
		NetworkInterfaces: []*computepb.NetworkInterface{{AccessConfigs: []*computepb.AccessConfig{{Name: new("External NAT")}}}},
	})
	m.foreign = true
	m.accepted = m.accepted.Add(-c.o.RunAfter - c.o.AddressAfter)
}

// Remove makes an instance vanish, as when somebody deletes it by hand.
func (c *Cloud) Remove(at string) error {
	return c.change(at, func(*machine) { delete(c.machines, at) })
}

// Stop ends an instance without deleting it: preempted, crashed or shut down. A spot
// instance that says so is deleted instead.
func (c *Cloud) Stop(at string) error {
	return c.change(at, func(m *machine) {
		if m.it.GetScheduling().GetInstanceTerminationAction() == "DELETE" {
			m.deleted = c.o.Now()
			return
		}
		m.stopped = true
	})
}

// Restart starts an instance again, with another address, as after a preemption.
func (c *Cloud) Restart(at string) error {
	return c.change(at, func(m *machine) { m.stopped, m.nat = false, c.freshAddress() })
}

// SetStatus makes an instance say a status, "" the true one.
func (c *Cloud) SetStatus(at, status string) error {
	return c.change(at, func(m *machine) { m.status = status })
}

// change does something to an instance, by projects/P/zones/Z/instances/NAME.
func (c *Cloud) change(at string, to func(*machine)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.machines[at]
	if m == nil {
		return fmt.Errorf("there is no %s", at)
	}
	to(m)
	return nil
}

// How a scope is said to be unreachable.
const (
	AsWarning = "warning" // UNREACHABLE, in place of the scope's items
	AsListed  = "listed"  // by its name beside the items of the page
	AsNothing = ""        // it can be reached
)

// SetUnreachable hides the instances of a zone from lists.
func (c *Cloud) SetUnreachable(zone, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unreachable["zones/"+zone] = how
	if how == AsNothing {
		delete(c.unreachable, "zones/"+zone)
	}
}
