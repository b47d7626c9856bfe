// Package haproxy runs a HAProxy under test, fed in the two ways of its operators: a
// new configuration file and a reload by the master, and the runtime API of a process
// that is never reloaded.
//
// Both run in master-worker mode with two threads, round robin, the usual timeouts of
// its documentation (5 s to connect, 50 s for client and server) and its default
// retries. What a worker believes is asked at its runtime API, "show servers state"
// (HAProxy Management Guide, section 9.3).
//
// A server that has gone stays in maintenance until its address returns, and is never
// deleted ("del server"): requests that failed at it and wait to be tried again may still
// hold it, and crash the worker later (HAProxy's issue 2298, fixed in 2.9-dev6). Debian's
// 2.6.12 dies of that under load, within seconds; 2.8.25 does not.
package haproxy

import (
	"regexp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

const retries = "up to 3, a second apart, at the same server"

var program = proxy.Program{
	Name: "haproxy", Variable: "GATEHOUSE_HAPROXY",
	Cached:      "haproxy/2.8.25/haproxy", // by hack/fetch-programs.sh
	Get:         `"make lab-programs", or install Debian's package haproxy`,
	VersionFlag: "-v", VersionForm: regexp.MustCompile(`version (\d+\.\d+[^\s-]*)`),
}

// Reload describes a HAProxy that is reloaded.
func Reload() proxy.Description {
	return describe("haproxy-reload", lab.ModelReload, "a new file, checked, and a reload by the master",
		func(o proxy.Options) proxy.Proxy { return &reloaded{instance: newInstance(o)} })
}

// Runtime describes a HAProxy that is told by its runtime API.
func Runtime() proxy.Description {
	return describe("haproxy-runtime", lab.ModelStream, "add server and set server at the runtime API; what has gone stays in maintenance",
		func(o proxy.Options) proxy.Proxy { return &told{newInstance(o)} })
}

func describe(name string, model lab.Model, how string, make func(proxy.Options) proxy.Proxy) proxy.Description {
	return proxy.Description{
		Name: name, Model: model, How: how, Retries: retries, Program: "HAProxy", Get: program.Get,
		New: make, Find: program.Find, Version: program.Version,
	}
}
