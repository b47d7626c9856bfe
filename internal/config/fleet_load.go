package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/cloudinit"
)

// LoadedFleet is a configuration of a fleet and where it came from.
type LoadedFleet struct {
	Fleet Fleet
	// Warnings are settings that work and that an operator should look at, a line each.
	Warnings []string
	// Given are the settings that are not defaults, in order of the reference.
	Given []Given
}

// LoadFleet takes every setting of a fleet from the first source that has it (flag,
// environment, default), and validates all of them once. Source.File is not looked at.
// The error is an Errors with everything that is wrong.
func LoadFleet(src Source) (LoadedFleet, error) {
	var f Fleet
	all := fleetSettings(&f)
	env := environment(src.Environ)
	given, errs := assign(all, src, env, nil)
	for _, err := range errs {
		if e, ok := errors.AsType[*Error](err); ok {
			e.Field = "" // there is no file that had a key
		}
	}
	c := fleetCheck{Fleet: &f, src: src, env: env, given: given, errs: errs}
	if src.Only == nil {
		c.source()
		c.apart()
		c.addresses()
		c.settleProviders()
		c.kubernetes()
		c.download()
		c.sweeps()
		c.leases()
		c.store()
		c.egress()
		c.warnings = append(c.warnings, unusedFleetVariables(env, all)...)
	}
	if len(c.errs) > 0 {
		return LoadedFleet{}, Errors(c.errs)
	}
	return LoadedFleet{Fleet: f, Warnings: c.warnings, Given: given}, nil
}

// fleetCheck looks at settings that only make sense together.
type fleetCheck struct {
	*Fleet
	src      Source
	env      map[string]string
	given    []Given
	errs     []error
	warnings []string
}

// fail and warn name where a setting was given, or where it could be.
func (c *fleetCheck) fail(key, value, problem string) {
	c.errs = append(c.errs, &Error{From: c.from(key), Value: value, Problem: problem})
}

func (c *fleetCheck) warn(key, problem string) {
	c.warnings = append(c.warnings, c.from(key)+" "+problem)
}

func (c *fleetCheck) from(key string) string {
	for _, g := range c.given {
		if g.Key == key {
			return g.From
		}
	}
	return "--" + kebab(key)
}

func (c *fleetCheck) isGiven(key string) bool {
	return slices.ContainsFunc(c.given, func(g Given) bool { return g.Key == key })
}

// serviceAccount is there in pods that may speak to their API server.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// source decides between a directory and a cluster.
func (c *fleetCheck) source() {
	switch {
	case c.Config == "" && (c.isGiven("kubeconfig") || c.isGiven("kubeContext") || onDisk(serviceAccount)):
		for _, key := range []string{"stateDir", "allowMassDelete"} {
			if c.isGiven(key) {
				c.warn(key, "has no effect: Proxies are those of a cluster; --config names a directory of them")
			}
		}
	case c.Config == "":
		if !c.isGiven("config") { // one that is given and wrong is told already
			c.fail("config", "", "is missing: name the directory of Proxy documents, or the cluster that has them, with --kubeconfig")
		}
	default:
		c.checkDirectory()
		if c.StateDir == "" {
			c.fail("stateDir", "", "is empty, and there is no home directory to have one in; name a directory that is kept")
		}
		for _, key := range []string{"kubeconfig", "kubeContext", "watchNamespaces", "leaseDuration"} {
			if c.isGiven(key) {
				c.fail(key, "", "contradicts --config: Proxies are those of a directory or of a cluster; leave one of the two out")
			}
		}
	}
}

// checkDirectory refuses what is no directory: most likely it is misspelt. A fleet
// that runs survives that its directory goes.
func (c *fleetCheck) checkDirectory() {
	info, err := os.Stat(c.Config)
	switch {
	case err != nil:
		c.fail("config", c.Config, fmt.Sprintf("cannot be watched: %v; name an existing directory", errors.Unwrap(err)))
	case !info.IsDir():
		c.fail("config", c.Config, "is no directory; name the directory that the file is in")
	}
}

// apart refuses a state directory within the watched one: its files would be read as
// objects.
func (c *fleetCheck) apart() {
	if c.Config == "" || c.StateDir == "" {
		return
	}
	watched, err := filepath.Abs(c.Config)
	if err != nil {
		return
	}
	for _, pair := range [][2]string{{watched, c.StateDir}, {resolved(watched), resolved(c.StateDir)}} {
		if within, err := filepath.Rel(pair[0], pair[1]); err == nil && within != ".." && !strings.HasPrefix(within, "../") {
			c.fail("stateDir", c.StateDir, "lies inside --config "+c.Config+", so that its files would be read as documents; choose a directory outside")
			return
		}
	}
}

// resolved follows the symbolic links of a path as far as it is there.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}

func (c *fleetCheck) addresses() {
	c.distinct()
	if c.AdminAddress != "" && !Loopback(c.AdminAddress) {
		c.warn("adminAddress", fmt.Sprintf("%q is not a loopback address: everyone who can reach it reads which proxies"+
			" there are, and profiles, without a password; use 127.0.0.1:19030 unless a firewall guards it", c.AdminAddress))
	}
}

// settleProviders fills the default and refuses what cannot be.
func (c *fleetCheck) settleProviders() {
	switch {
	case len(c.Providers) > 0 || c.isGiven("providers"):
	case c.InCluster():
		c.Providers = []string{"kubernetes"}
	default:
		c.Providers = []string{"process"}
	}
	if !c.InCluster() && slices.Contains(c.Providers, "kubernetes") {
		c.fail("providers", "kubernetes", "makes pods for Proxies of a cluster; name the cluster with --kubeconfig instead of --config")
	}
	if path := c.Process.ForwardBinary; path != "" && !onDisk(path) {
		c.fail("forwardBinary", path, "does not exist; name the program gatehouse-forward, or leave it out")
	}
	c.Hetzner.Token = c.env["HCLOUD_TOKEN"]
	for _, g := range c.given {
		if name, one := onlyFor[g.Key]; one && !slices.Contains(c.Providers, name) {
			c.warn(g.Key, "has no effect: provider "+name+" is off; --providers turns it on")
		}
	}
}

// onlyFor says which settings are of one provider.
var onlyFor = map[string]string{
	"gcpProject": "gcp", "gcpEndpoint": "gcp", "gcpReadOperations": "gcp", "hetznerEndpoint": "hetzner",
	"processNetwork": "process", "processPool": "process", "processAllowDestinations": "process", "forwardBinary": "process",
	"podImage": "kubernetes", "podRequests": "kubernetes", "podLimits": "kubernetes",
	"podAllowSources": "kubernetes", "podAllowDestinations": "kubernetes",
}

// kubernetes refuses a kubeconfig that is named and not there.
func (c *fleetCheck) kubernetes() {
	k := &c.Kubernetes
	k.PodIP = c.env["POD_IP"]
	if k.Kubeconfig != "" && !slices.ContainsFunc(filepath.SplitList(k.Kubeconfig), func(path string) bool { return path != "" && onDisk(path) }) {
		c.fail("kubeconfig", k.Kubeconfig, "does not exist; name the kubeconfig of the cluster")
	}
	if k.Namespace == "" {
		k.Namespace = c.ownNamespace()
	}
}

// download wants both of the program and its checksum: instances run what they get.
func (c *fleetCheck) download() {
	if c.Forward.URL != "" && c.Forward.SHA256 == "" && !c.isGiven("forwardSha256") {
		c.fail("forwardSha256", "", "is missing: --forward-url needs the checksum of what it answers, as sha256sum prints it")
	}
	if c.Forward.SHA256 != "" && c.Forward.URL == "" && !c.isGiven("forwardUrl") {
		c.fail("forwardUrl", "", "is missing: --forward-sha256 is the checksum of what it answers")
	}
	if c.Forward.URL != "" && c.Forward.SHA256 != "" {
		if err := (cloudinit.Forward{URL: c.Forward.URL, SHA256: c.Forward.SHA256}).Validate(); err != nil {
			c.fail("forwardUrl", "", err.Error())
		}
	}
}

func (c *fleetCheck) sweeps() {
	if c.isGiven("gcAllowNamespaced") && len(c.Kubernetes.Namespaces) == 0 {
		c.warn("gcAllowNamespaced", "has no effect: all namespaces are watched")
	}
}

func unusedFleetVariables(env map[string]string, all []*setting) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.Env)
	}
	return misspelt(env, names, func(name string) bool { return strings.HasPrefix(name, "GATEHOUSE_FLEET_") })
}
