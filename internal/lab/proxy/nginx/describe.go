// Package nginx runs an nginx under test: a master with two workers, and a new
// configuration file, checked, and a reload for each change.
//
// It believes what the generation that answers was configured with: each file has a
// number, and a location that answers with it (the open source nginx has no other way
// to ask what it believes). Old workers keep serving the connections that they have;
// they are children of the master until these end.
package nginx

import (
	"regexp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

var program = proxy.Program{
	Name: "nginx", Variable: "GATEHOUSE_NGINX",
	Get:         `"make lab-programs", or install Debian's package nginx-light`,
	VersionFlag: "-v", VersionForm: regexp.MustCompile(`version: \S+/(\d+\.\d+\S*)`),
}

// Describe describes nginx.
func Describe() proxy.Description {
	return proxy.Description{
		Name: "nginx", Model: lab.ModelReload, How: "a new file, checked, and a reload by signal",
		Retries: "each other server once, and a failed one is left alone for 10 s",
		Program: "nginx", Get: program.Get,
		New: func(o proxy.Options) proxy.Proxy { return newNginx(o) }, Find: program.Find, Version: program.Version,
	}
}
