package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/load"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/model"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// allProxies is the default of --proxies, and stands for everyProxy: the plain models,
// and every real proxy with the retries that it makes by default, beside it without them.
const (
	allProxies = "all"
	everyProxy = "model:stream,model:reload," +
		"nginx,nginx:retries=off,haproxy-reload,haproxy-reload:retries=off,haproxy-runtime,haproxy-runtime:retries=off," +
		"envoy-file,envoy-xds,gatehouse,gatehouse:retries=off"
)

// maxProxies bounds how many proxies play side by side.
const maxProxies = 32

// labProxies reads the value of --proxies; the error has a line for each that is wrong.
func labProxies(list string) ([]app.LabProxy, error) {
	var proxies []app.LabProxy
	var errs []error
	seen := map[string]bool{}
	if list == allProxies {
		list = everyProxy
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		p, err := labProxy(name)
		if err == nil && seen[name] {
			err = fmt.Errorf("%s: it is there twice; name it once", name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--proxies: %w", err))
		}
		seen[name] = true
		proxies = append(proxies, p)
	}
	if len(proxies) > maxProxies {
		errs = append(errs, fmt.Errorf("--proxies: %d proxies, at most %d play side by side; split the run", len(proxies), maxProxies))
	}
	return proxies, errors.Join(errs...)
}

func labProxy(name string) (app.LabProxy, error) {
	if strings.HasPrefix(name, "model:") {
		spec, err := model.Parse(name)
		return app.LabProxy{Name: name, Model: &spec}, err
	}
	kind, parameters, _ := strings.Cut(name, ":")
	for _, d := range app.LabProxies() {
		if d.Name != kind {
			continue
		}
		switch parameters {
		case "", "retries=default":
			return app.LabProxy{Name: name, Real: &d}, nil
		case "retries=off":
			return app.LabProxy{Name: name, Real: &d, RetriesOff: true}, nil
		}
		return app.LabProxy{}, fmt.Errorf("%s: unknown parameter %q; %s takes retries=off", name, parameters, kind)
	}
	return app.LabProxy{}, fmt.Errorf("%q: no such proxy%s; 'gatehouse lab list' shows all", name, near(kind))
}

// near returns the name that was likely meant, as a part of a sentence.
func near(kind string) string {
	names := []string{"model:stream", "model:reload", "model:dns"}
	for _, d := range app.LabProxies() {
		names = append(names, d.Name)
	}
	if close, ok := spelling.Closest(kind, names); ok {
		return ", did you mean " + close + "?"
	}
	return ""
}

// checkLoad refuses a load that the laboratory does not send.
func checkLoad(o app.LabOptions) error {
	var errs []error
	if o.Load.Rate < 1 || o.Load.Rate > load.MaxRate {
		errs = append(errs, fmt.Errorf("--rate %d: must be from 1 to %d requests per second", o.Load.Rate, load.MaxRate))
	}
	if t := o.Load.Timeout; t < minTimeout || t > load.MaxTimeout {
		errs = append(errs, fmt.Errorf("--timeout %v: must be from %v to %v", time.Duration(t), time.Duration(minTimeout), time.Duration(load.MaxTimeout)))
	}
	if length := time.Duration(o.Timeline.Length); length < minLength {
		errs = append(errs, fmt.Errorf("--duration %v: real proxies need %v or more to tell anything", length, minLength))
	}
	return errors.Join(errs...)
}

// minLength is the shortest run of real proxies.
const minLength = time.Second

// minTimeout is the least that a client may wait.
const minTimeout = lab.Moment(10 * time.Millisecond)

// completeLab completes the flags of "lab propagation".
func (s *session) completeLab(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("script", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, built := range script.Names() {
			names = append(names, built.Name+"\t"+built.Does)
		}
		return names, cobra.ShellCompDirectiveDefault
	})
	_ = cmd.RegisterFlagCompletionFunc("proxies", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var names []string
		for name := range strings.SplitSeq(everyProxy, ",") {
			if !strings.Contains(","+before, ","+name+",") {
				names = append(names, before+name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}
