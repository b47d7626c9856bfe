package envoy

import (
	"net/netip"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Options are the static part of a translation.
type Options struct {
	// BindAddress is used by listeners without an address of their own; the
	// zero Addr means 127.0.0.1.
	BindAddress netip.Addr
	// CAFile is where the proxies find the system's certificate authorities, in
	// PEM; empty means DefaultCAFile.
	CAFile string
}

// DefaultCAFile is where Debian, Alpine and most containers keep the system's
// certificate authorities.
const DefaultCAFile = "/etc/ssl/certs/ca-certificates.crt"

// Failure is a model value, or a part of one, that could not become valid
// configuration.
type Failure struct {
	// Type and Name are the resource that lacks the value.
	Type xdsserve.Type
	Name string
	// Message says value, cause and remedy in one line.
	Message string
	// Field is the path inside the model value, for example "match.path.value".
	Field   string
	Origins []model.Ref
}

// Equal reports whether two failures are the same, provenance included.
func (f Failure) Equal(o Failure) bool {
	return f.Type == o.Type && f.Name == o.Name && f.Message == o.Message && f.Field == o.Field && slices.Equal(f.Origins, o.Origins)
}

// Output is what one model value became. A route table, or a listener with
// several chains, can have both a Resource and Failures: its bad parts are left
// out or answer 500, and are reported. Any other failed value has no Resource.
type Output struct {
	Resource *xdsserve.Resource
	Failures []Failure
}

// Equal reports whether two outputs are the same, provenance included.
func (o Output) Equal(p Output) bool {
	return sameResource(o.Resource, p.Resource) && slices.EqualFunc(o.Failures, p.Failures, Failure.Equal)
}

func sameResource(a, b *xdsserve.Resource) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b) && a.SlowToWarm == b.SlowToWarm && slices.Equal(a.Uses, b.Uses) && slices.Equal(a.Origins, b.Origins)
}

// Outputs are the derived collections of a translation; each has the keys of
// the model collection that it comes from. A table is in Tables as a whole; where
// it is looked up by host, its exact hosts are in Hosts and all others in Rests.
type Outputs struct {
	Listeners, Tables, Rests, Hosts, Clusters, Endpoints, Certificates derive.Collection[Output]
}

func (o Options) bindAddress() netip.Addr {
	if o.BindAddress.IsValid() {
		return o.BindAddress
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

func (o Options) caFile() string {
	if o.CAFile != "" {
		return o.CAFile
	}
	return DefaultCAFile
}
