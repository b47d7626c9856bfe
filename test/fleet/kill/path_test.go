package kill_test

import (
	"strings"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// path is a way of a Proxy through its life, on which the operator is ended.
type path struct {
	name string
	// before brings the stage to where the path begins, with operators that nobody ends.
	before func(*scene)
	// act is what happens then, if anything; operators are ended from here on.
	act func(*scene)
	// so says whether the path is at its end.
	so func(*scene) bool
	// then is what happens after it, if anything; everything is in order again when finally.
	then    func(*scene)
	finally func(*scene) bool
	// sweeps is a path of the sweeper; nobody looks at Proxies that do not change.
	sweeps bool
	// zones is how many the path needs, troubles what the world must be capable of.
	zones    int
	troubles []trouble
	// makes are calls without which it would be another path.
	makes []string
}

var paths = []path{
	{
		name: "create", act: create, so: provisioned,
		makes: []string{"patch metadata", "find", "create", "patch status", "get"},
	},
	{
		name: "adopt", before: func(sc *scene) { create(sc); sc.endAfter("create") }, so: provisioned,
		makes: []string{"find", "patch metadata", "patch status"},
	},
	{
		name: "replace", before: running, so: replaced,
		act:   func(sc *scene) { sc.edit(sc.T, key, func(p *egress_v1alpha1.Proxy) { p.Spec.Endpoint.Port++ }) },
		makes: []string{"proxies", "delete", "create", "patch metadata", "patch status"},
	},
	{
		name: "replace for new credentials", before: running, so: replaced,
		act:   func(sc *scene) { sc.secret(sc.T, auth, credentials("second")) },
		makes: []string{"secret", "delete", "create", "patch metadata", "patch status"},
	},
	{
		name: "move", zones: 2, before: running, so: replaced,
		act:   func(sc *scene) { sc.edit(sc.T, key, func(p *egress_v1alpha1.Proxy) { p.Spec.Zone = sc.zone(1) }) },
		makes: []string{"delete", "create", "patch metadata", "patch status"},
	},
	{
		name: "delete", before: running, act: remove, so: gone,
		makes: []string{"get", "delete", "find", "patch metadata"},
	},
	{
		name: "delete what was not written down", so: gone, act: remove,
		before: func(sc *scene) { create(sc); sc.endAfter("create") },
		makes:  []string{"find", "delete", "patch metadata"},
	},
	{
		name: "delete without rights", troubles: []trouble{forbids}, before: running, so: blocked,
		act:     func(sc *scene) { sc.begin(sc.T, forbids, ""); remove(sc) },
		then:    func(sc *scene) { sc.end(sc.T, forbids) },
		finally: gone,
		makes:   []string{"get", "patch status"},
	},
	{
		name: "sweep an orphan", sweeps: true, before: running, so: provisioned,
		act:   func(sc *scene) { sc.plant(sc.cluster(), nobodys(), 0) },
		makes: []string{"list", "proxies", "current proxies", "delete"},
	},
	{
		name: "sweep a duplicate", sweeps: true, zones: 2, before: running, so: provisioned,
		act:   func(sc *scene) { sc.plant(sc.cluster(), string(sc.was.UID), 1) },
		makes: []string{"list", "proxies", "current", "delete"},
	},
	{
		name: "fail asynchronously", troubles: []trouble{quotaLater},
		act:     func(sc *scene) { sc.begin(sc.T, quotaLater, ""); create(sc) },
		so:      func(sc *scene) bool { return sc.reason() == egress_v1alpha1.ReasonQuotaExceeded },
		then:    func(sc *scene) { sc.end(sc.T, quotaLater) },
		finally: provisioned,
		makes:   []string{"create", "get", "find", "create error", "patch status"},
	},
	{
		name: "retry after an asynchronous failure", troubles: []trouble{quotaLater}, so: provisioned,
		before: func(sc *scene) {
			sc.begin(sc.T, quotaLater, "")
			create(sc)
			sc.until(func(sc *scene) bool { return sc.reason() == egress_v1alpha1.ReasonQuotaExceeded })
		},
		act:   func(sc *scene) { sc.end(sc.T, quotaLater) },
		makes: []string{"find", "create", "patch status", "get"},
	},
	{
		name: "replace what stopped", troubles: []trouble{stops}, before: running, so: provisioned,
		act:   func(sc *scene) { sc.begin(sc.T, stops, sc.was.Status.ProviderID) },
		makes: []string{"get", "delete", "create", "patch status"},
	},
	{
		name: "make again what vanished", troubles: []trouble{vanishes}, before: running, so: provisioned,
		act:   func(sc *scene) { sc.begin(sc.T, vanishes, sc.was.Status.ProviderID) },
		makes: []string{"get", "find", "create", "patch status"},
	},
}

func create(sc *scene) {
	sc.Helper()
	sc.secret(sc.T, auth, credentials("first"))
	spec := sc.spec()
	spec.Mode, spec.Provider = egress_v1alpha1.Managed, sc.name()
	spec.Endpoint = &egress_v1alpha1.Endpoint{Port: 3128}
	spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: auth.Name}}
	sc.create(sc.T, &egress_v1alpha1.Proxy{Namespace: key.Namespace, Name: key.Name, Spec: spec})
}

func credentials(password string) map[string][]byte {
	return map[string][]byte{"username": []byte("crawler"), "password": []byte(password + "-password")}
}

func remove(sc *scene) { sc.Helper(); sc.remove(sc.T, key) }

func running(sc *scene) { sc.Helper(); create(sc); sc.until(provisioned) }

// provisioned: the Proxy runs on the one instance there is, and says so.
func provisioned(sc *scene) bool {
	p := sc.proxy()
	if p == nil || !lifecycle.Serves(p) || p.Status.ObservedGeneration != p.Generation || sc.reason() != egress_v1alpha1.ReasonCreated {
		return false
	}
	all := sc.instances(sc.cluster())
	return len(all) == 1 && all[0].State == provider.Running && all[0].ID == p.Status.ProviderID && all[0].UID == string(p.UID) &&
		strings.HasPrefix(madeFrom(p), all[0].Hash)
}

func madeFrom(p *egress_v1alpha1.Proxy) string {
	return p.Annotations[egress_v1alpha1.SpecHashAnnotation]
}

// replaced: it is provisioned, and made from something else than it was.
func replaced(sc *scene) bool { return provisioned(sc) && madeFrom(sc.proxy()) != madeFrom(sc.was) }

// gone: nothing is left, neither of the Proxy nor of an instance.
func gone(sc *scene) bool { return sc.proxy() == nil && len(sc.instances(sc.cluster())) == 0 }

// blocked: the Proxy says why it stays.
func blocked(sc *scene) bool {
	p := sc.proxy()
	return p != nil && lifecycle.Is(p, egress_v1alpha1.DeletionBlocked)
}
