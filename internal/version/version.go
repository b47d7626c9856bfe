// Package version says which Gatehouse this is.
package version

import (
	"runtime"
	"runtime/debug"
)

// Number is the released version; the linker may replace it.
var Number = "0.1.0"

// Envoy is the version of Envoy that this Gatehouse is tested with.
const Envoy = "1.40.0"

// Info is what "gatehouse version" prints.
type Info struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // abbreviated; empty when built outside a checkout
	Modified bool   `json:"modified"`         // built from a checkout with changes
	Go       string `json:"go"`
	Platform string `json:"platform"` // for example "linux/amd64"
	Envoy    string `json:"envoy"`    // tested with
}

// Get returns what is known of the running binary.
func Get() Info {
	info := Info{
		Version: Number, Envoy: Envoy,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	return info
}
