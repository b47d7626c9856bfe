// Package nginx runs an nginx under test: a master with two workers, fed as its
// operators feed it. Each change is a new configuration file, which "nginx -t" checks,
// and a reload by SIGHUP.
//
// All that is not said in nginx.conf is nginx's default: backends get requests in turn,
// each on a connection of its own, connecting takes 60 s at most, and a worker leaves a
// backend alone for 10 s after one failure.
//
// # What it believes
//
// Each configuration has a number, its generation. A location that is not proxied
// answers with it and with the worker's process ID. The same location has an error log
// named after the generation, to which nothing is written: the kernel therefore tells of
// every worker, also of those that do not happen to answer, which generation it runs
// (/proc/PID/fd), and nginx tells by its title whether it takes connections, "nginx:
// worker process", or only finishes its requests, "nginx: worker process is shutting
// down". It sets the first when it has begun to accept, and the second right before it
// stops.
//
// A reload starts the new workers first and ends the old ones 100 ms later. In between
// both take requests, so only what both believe is believed by all.
package nginx

import (
	"regexp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

const retries = "the next backend after an error or a timeout, each once; a backend that failed is left alone for 10 s"

var program = proxy.Program{
	Name: "nginx", Variable: "GATEHOUSE_NGINX",
	Get:         `"make lab-programs", or install Debian's package nginx-light`,
	VersionFlag: "-v", VersionForm: regexp.MustCompile(`nginx version: [^\s/]+/(\d+(?:\.\d+)+)`),
}

// Describe describes an nginx that is reloaded.
func Describe() proxy.Description {
	return proxy.Description{
		Name: "nginx", Model: lab.ModelReload, How: "a new file, checked, and a reload by SIGHUP; backends in turn",
		Retries: retries, Program: "nginx", Get: program.Get,
		New:  func(o proxy.Options) proxy.Proxy { return newNginx(o) },
		Find: program.Find, Version: program.Version,
	}
}
