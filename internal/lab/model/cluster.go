// Package model holds the models of how a proxy learns of changes, and plays a script
// on them.
//
// A [Cluster] is the plain model: the stream or the reload model, with the operations of
// each and nothing else. [Run] surrounds clusters with what happens between a change and
// a proxy that believes in it (delays, batches, old workers, a group of proxies that
// differ) and turns a [lab.Timeline] into what the proxies believed. It is a discrete
// event simulation: it waits for nothing and leaves nothing to chance, so the same
// script gives the same answer, to the byte.
package model

import (
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Cluster is the plain model of one proxy: its view is the backends it believes in.
// Adding a backend that is there, or removing one that is not, changes nothing.
type Cluster struct {
	model    lab.Model
	backends map[string]*backend // all it ever heard of
	staged   []*backend          // all that changed since the last reload
	// changed, if any, is told of every change of the view; what it returns ends the
	// operation.
	changed func(b *backend) error
}

type backend struct {
	name             string
	believed, staged bool
	belief           // where the cluster is a member of a group
}

// NewCluster returns a cluster with an empty view, of lab.ModelStream or
// lab.ModelReload. Any other model is an [*UnknownModelError].
func NewCluster(m lab.Model) (*Cluster, error) {
	if m != lab.ModelStream && m != lab.ModelReload {
		return nil, &UnknownModelError{Model: m, Known: []lab.Model{lab.ModelStream, lab.ModelReload}}
	}
	return newCluster(m, nil), nil
}

func newCluster(m lab.Model, changed func(b *backend) error) *Cluster {
	return &Cluster{model: m, backends: make(map[string]*backend), changed: changed}
}

// ApplyStreamEvent changes the view at once; kind is lab.Add or lab.Remove. On a reload
// model, or with another kind, it is an [*OperationError].
func (c *Cluster) ApplyStreamEvent(kind lab.Kind, name string) error {
	if err := c.allow("ApplyStreamEvent", lab.ModelStream, kind); err != nil {
		return err
	}
	return c.believe(c.backend(name), kind == lab.Add)
}

// StageForReload changes what the next reload will bring, and not the view; kind is
// lab.Add or lab.Remove. On a stream model, or with another kind, it is an
// [*OperationError].
func (c *Cluster) StageForReload(kind lab.Kind, name string) error {
	if err := c.allow("StageForReload", lab.ModelReload, kind); err != nil {
		return err
	}
	if b := c.backend(name); b.staged != (kind == lab.Add) {
		b.staged = kind == lab.Add
		c.staged = append(c.staged, b)
	}
	return nil
}

// Reload makes the view jump to what is staged. On a stream model it is an
// [*OperationError].
func (c *Cluster) Reload() error {
	if err := c.allow("Reload", lab.ModelReload, lab.Add); err != nil {
		return err
	}
	for _, b := range c.staged {
		if err := c.believe(b, b.staged); err != nil {
			return err
		}
	}
	c.staged = c.staged[:0]
	return nil
}

// View returns the names of the backends that the proxy believes in, sorted.
func (c *Cluster) View() []string {
	names := []string{}
	for name, b := range c.backends {
		if b.believed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (c *Cluster) believe(b *backend, believed bool) error {
	if b.believed == believed {
		return nil
	}
	b.believed = believed
	if c.changed == nil {
		return nil
	}
	return c.changed(b)
}

func (c *Cluster) backend(name string) *backend {
	b, known := c.backends[name]
	if !known {
		b = &backend{name: name}
		c.backends[name] = b
	}
	return b
}

func (c *Cluster) allow(operation string, m lab.Model, kind lab.Kind) error {
	if c.model != m || kind != lab.Add && kind != lab.Remove {
		return &OperationError{Operation: operation, Model: c.model, Kind: kind}
	}
	return nil
}
