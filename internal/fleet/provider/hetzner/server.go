package hetzner

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// defaultImage is what the user data of gatehouse-forward is made for.
const defaultImage = "debian-13"

// maxUserData is Hetzner's limit, in bytes.
const maxUserData = 32 << 10

// ProxyLabel of a server is NAMESPACE.NAME of its Proxy, for people; it is absent where
// that is too long.
const ProxyLabel = "proxy"

// createRequest is the server of a request. It is pure. There is no SSH key, and both
// addresses go with the server.
func createRequest(r provider.CreateRequest) (hcloud.ServerCreateOpts, error) {
	switch {
	case r.MachineType == "":
		return hcloud.ServerCreateOpts{}, errors.New("spec.machineType is empty: name a type of server, such as cx23")
	case len(r.UserData) > maxUserData:
		return hcloud.ServerCreateOpts{}, fmt.Errorf("spec.cloudInit: %d bytes of user data: Hetzner takes at most %d", len(r.UserData), maxUserData)
	}
	if r.Image == "" {
		r.Image = defaultImage
	}
	request := hcloud.ServerCreateOpts{
		Name: r.Name, ServerType: &hcloud.ServerType{Name: r.MachineType}, Image: &hcloud.Image{Name: r.Image},
		UserData: string(r.UserData), StartAfterCreate: new(true),
		Labels: map[string]string{
			egress_v1alpha1.ClusterLabel: r.Cluster, egress_v1alpha1.UIDLabel: r.UID, egress_v1alpha1.HashLabel: provider.LabelHash(r.Hash),
		},
		PublicNet: &hcloud.ServerCreatePublicNet{EnableIPv4: true, EnableIPv6: true},
	}
	if label := r.Namespace + "." + r.Proxy; len(label) <= 63 {
		request.Labels[ProxyLabel] = label
	}
	if r.Zone != "" {
		request.Location = &hcloud.Location{Name: r.Zone}
	}
	return request, nil
}

// place is an ID: the server's number, after its project's name and a slash if that has
// one.
type place struct {
	project string
	server  int64
}

func (p place) String() string {
	if p.project == unnamed {
		return strconv.FormatInt(p.server, 10)
	}
	return p.project + "/" + strconv.FormatInt(p.server, 10)
}

// parseID returns ErrNotFound for text of another form: no server has such an ID.
func parseID(id string) (place, error) {
	name, number, named := strings.Cut(id, "/")
	if !named {
		name, number = unnamed, id
	}
	n, err := strconv.ParseInt(number, 10, 64)
	at := place{name, n}
	if err != nil || n <= 0 || at.String() != id || (named && !projectName.MatchString(name)) {
		return place{}, fmt.Errorf("%w: the ID %q is neither NUMBER nor PROJECT/NUMBER", provider.ErrNotFound, id)
	}
	return at, nil
}

// instance is what a server is to the fleet.
func (p *Provider) instance(project string, s *hcloud.Server) provider.Instance {
	i := provider.Instance{
		ID: place{project, s.ID}.String(), Name: s.Name,
		Cluster: s.Labels[egress_v1alpha1.ClusterLabel], UID: s.Labels[egress_v1alpha1.UIDLabel], Hash: s.Labels[egress_v1alpha1.HashLabel],
		CreatedAt: s.Created,
	}
	i.State, i.IP = state(s)
	if i.State == provider.Provisioning {
		i.Detail = "the server is " + string(s.Status)
	}
	return i
}

// state reads a server's status. One that is off while an action holds it is about to be
// started. One that Hetzner moves, or has lost sight of, keeps its address: whether it
// works is for probes to say.
func state(s *hcloud.Server) (provider.State, netip.Addr) {
	ip, known := address(s)
	switch s.Status {
	case hcloud.ServerStatusDeleting:
		return provider.Terminating, netip.Addr{}
	case hcloud.ServerStatusRunning, hcloud.ServerStatusMigrating, hcloud.ServerStatusUnknown:
		if known {
			return provider.Running, ip
		}
	case hcloud.ServerStatusOff, hcloud.ServerStatusStopping:
		if !s.Locked {
			return provider.Stopped, netip.Addr{}
		}
	case hcloud.ServerStatusInitializing, hcloud.ServerStatusStarting, hcloud.ServerStatusRebuilding:
	}
	return provider.Provisioning, netip.Addr{}
}

// address is the public IPv4 address, or else the first one of the IPv6 network, which
// servers configure.
func address(s *hcloud.Server) (netip.Addr, bool) {
	if ip, ok := netip.AddrFromSlice(s.PublicNet.IPv4.IP); ok && !ip.Unmap().IsUnspecified() {
		return ip.Unmap(), true
	}
	if ip, ok := netip.AddrFromSlice(s.PublicNet.IPv6.IP); ok && !ip.IsUnspecified() {
		return ip.Next(), true
	}
	return netip.Addr{}, false
}
