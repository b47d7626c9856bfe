package app

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/experiment"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/leg"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/model"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/gatehouse"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/haproxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/nginx"
)

// LabProxies are the real proxies of the laboratory, in the order in which they are listed.
func LabProxies() []proxy.Description {
	return []proxy.Description{
		nginx.Describe(), haproxy.Reload(), haproxy.Runtime(), envoy.File(), envoy.XDS(), gatehouse.Describe(),
	}
}

// LabOptions say what "gatehouse lab propagation" does.
type LabOptions struct {
	Timeline lab.Timeline
	Load     lab.Load
	// Proxies are played side by side, in this order.
	Proxies []LabProxy
	// Verbose shows what the programs under test write.
	Verbose bool
	// Ready is called when all real proxies begin.
	Ready func()
}

// LabProxy is a proxy as asked for: a model, or a real one.
type LabProxy struct {
	Name       string
	Model      *model.Spec        // nil for a real proxy
	Real       *proxy.Description // nil for a model
	RetriesOff bool
}

// Kind returns the model of the proxy.
func (p LabProxy) Kind() lab.Model {
	if p.Model != nil {
		return p.Model.Model
	}
	return p.Real.Model
}

// settle is how long after a step the beliefs of real proxies are looked at.
const settle = lab.Moment(time.Second)

// Lab plays a timeline on models and real proxies. A real proxy that cannot run here is
// skipped, which its result tells.
func Lab(ctx context.Context, o LabOptions, io IO) (lab.Result, error) {
	result := lab.Result{Version: lab.ResultVersion, Timeline: o.Timeline, Load: o.Load, Machine: labMachine(), Proxies: make([]lab.Proxy, len(o.Proxies))}
	gatehouse, err := os.Executable()
	if err != nil {
		return result, err
	}
	var orders []leg.Order
	var places []int // of the orders' results
	supported := sync.OnceValue(func() error { return leg.Supported(ctx, gatehouse) })
	for i, p := range o.Proxies {
		if p.Model != nil {
			if result.Proxies[i], err = model.Run(*p.Model, o.Timeline); err != nil {
				return result, err
			}
			continue
		}
		order, told := o.order(ctx, p, gatehouse)
		if told.Skipped == "" {
			told.Skipped = text(supported())
		}
		result.Proxies[i] = told
		if told.Skipped == "" {
			orders, places = append(orders, order), append(places, i)
		}
	}
	if len(orders) == 0 {
		result.Load = lab.Load{}
		return result, nil
	}
	result.Settle = settle
	played, err := leg.RunAll(ctx, orders, io.Err, o.Ready)
	for n, place := range places {
		played[n].Program, played[n].How = result.Proxies[place].Program, result.Proxies[place].How
		result.Proxies[place] = played[n]
	}
	return result, err
}

// order returns what the leg of a real proxy is to do, and what is known of it before.
func (o LabOptions) order(ctx context.Context, p LabProxy, gatehouse string) (leg.Order, lab.Proxy) {
	told := lab.Proxy{Name: p.Name, Model: p.Real.Model, How: how(p)}
	skip := func(err error) (leg.Order, lab.Proxy) {
		told.Skipped = err.Error()
		return leg.Order{}, told
	}
	program, version, err := LabInstalled(ctx, *p.Real)
	if err != nil {
		return skip(err)
	}
	told.Program = p.Real.Program + " " + version
	return leg.Order{
		Plan: experiment.Plan{Name: p.Name, Model: p.Real.Model, Timeline: o.Timeline, Load: o.Load},
		Kind: p.Real.Name, Program: program, Gatehouse: gatehouse, RetriesOff: p.RetriesOff, Verbose: o.Verbose,
	}, told
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func how(p LabProxy) string {
	if p.RetriesOff {
		return p.Real.How + "; retries off"
	}
	return p.Real.How + "; retries: " + p.Real.Retries
}

// LabSupported tells what is missing on this machine to run real proxies.
func LabSupported(ctx context.Context) error {
	gatehouse, err := os.Executable()
	if err != nil {
		return err
	}
	return leg.Supported(ctx, gatehouse)
}

// LabInstalled finds the program of a real proxy and asks for its version.
func LabInstalled(ctx context.Context, d proxy.Description) (path, version string, err error) {
	if path, err = d.Find(); err != nil {
		return "", "", err
	}
	version, err = d.Version(ctx, path)
	return path, version, err
}

// LabLegCheck shows whether a leg could live in the namespaces of this process.
func LabLegCheck() error { return leg.Check() }

// LabLeg is the life of a leg: one real proxy, in namespaces of its own.
func LabLeg(ctx context.Context, in io.Reader, io IO) error {
	return leg.Serve(ctx, in, io.Out, io.Err, LabProxies())
}

// LabBackend is the life of a backend of a leg.
func LabBackend(ctx context.Context, in io.Reader, io IO) error {
	return arena.ServeBackend(ctx, in, io.Out)
}

// LabEndpoints is the life of the server that tells an Envoy of a leg its endpoints.
func LabEndpoints(ctx context.Context, socket string, in io.Reader, io IO) error {
	return envoy.ServeEndpoints(ctx, socket, in, io.Err)
}
