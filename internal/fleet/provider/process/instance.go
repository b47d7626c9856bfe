package process

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// instance is what is kept of one. It has no secrets; those are files of their own.
type instance struct {
	Name, Cluster, UID, Hash string
	Port                     int
	Scheme                   string
	Address                  netip.Addr
	Created                  time.Time
	Deleting                 time.Time `json:",omitzero"`  // when its deletion was accepted
	Told                     bool      `json:",omitempty"` // to end, and nothing else yet
	// Start tells its process from any other there ever was.
	Start string
	// Open says that it has no credentials.
	Open bool `json:",omitempty"`
	// Network is what its address is of. Bridge is where its namespace is attached, and
	// Cable this machine's end of the cable to it; both are empty without a network.
	Network netip.Prefix
	Bridge  string `json:",omitempty"`
	Cable   string `json:",omitempty"`
	// Process is zero until it was noted.
	Process process `json:",omitzero"`
}

// process is one of this machine, told from others that had or will have its number by
// when it began.
type process struct {
	PID   int
	Ticks uint64 // since the machine was started
	Boot  string // which start of the machine
}

func (i *instance) started() bool { return i.Process.PID != 0 }

func (i *instance) endpoint() string {
	return net.JoinHostPort(i.Address.String(), strconv.Itoa(i.Port))
}

func check(r provider.CreateRequest) error {
	switch {
	case !isName(r.Name):
		return fmt.Errorf("%w: the name %q must be letters, digits and dashes", provider.ErrPermanent, r.Name)
	case r.Port < 1 || r.Port > 65535:
		return fmt.Errorf("%w: port %d must be 1 to 65535", provider.ErrPermanent, r.Port)
	case r.Scheme != "http" && r.Scheme != "https" && r.Scheme != "socks5":
		return fmt.Errorf("%w: scheme %q must be http, https or socks5", provider.ErrPermanent, r.Scheme)
	case r.Scheme == "https" && (len(r.Credentials.TLSCert) == 0 || len(r.Credentials.TLSKey) == 0):
		return fmt.Errorf("%w: scheme https needs a certificate and its key; put them into the Secret of spec.auth", provider.ErrPermanent)
	}
	return nil
}

// drainTime is how long a process that was told to end goes on with what is under way.
const drainTime = 10 * time.Second

// answerTime is how long a process of this machine may take to accept a connection.
const answerTime = 200 * time.Millisecond

// look says what an instance is now. It runs when it accepts connections.
func (p *Provider) look(ctx context.Context, i *instance) provider.Instance {
	seen := provider.Instance{
		ID: i.Name, Name: i.Name, Cluster: i.Cluster, UID: i.UID, Hash: provider.LabelHash(i.Hash),
		State: provider.Provisioning, CreatedAt: i.Created,
	}
	alive := i.started() && i.Process.alive()
	switch {
	case !i.Deleting.IsZero():
		seen.State = provider.Terminating
	case i.started() && !alive:
		seen.State, seen.Detail = provider.Stopped, p.store.lastWords(i.Name)
	case alive && answers(ctx, i.endpoint()):
		seen.State, seen.IP = provider.Running, i.Address
	}
	return seen
}

func answers(ctx context.Context, endpoint string) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// begin makes the folder of an instance that has no process yet.
func (p *Provider) begin(r provider.CreateRequest) (*instance, error) {
	if err := p.endStrays(p.store.folder(r.Name)); err != nil {
		return nil, err
	}
	i := &instance{
		Name: r.Name, Cluster: r.Cluster, UID: r.UID, Hash: r.Hash, Port: r.Port, Scheme: r.Scheme,
		Created: p.options.Now(), Start: random(), Open: r.Credentials.Password == "" && r.Credentials.LeaseKey == nil,
	}
	if err := p.place(i); err != nil {
		return nil, err
	}
	if err := p.store.add(i, r.Credentials); err != nil {
		return nil, err
	}
	return i, p.cut("recorded")
}

// end brings a deletion further, and says whether it is over.
func (p *Provider) end(i *instance) (gone bool, err error) {
	left, err := p.tell(i)
	if left || err != nil {
		return false, err
	}
	for _, step := range []func() error{
		func() error { return p.cut("ended") },
		func() error { return unplug(i.Cable) },
		func() error { return p.store.remove(i.Name) },
		func() error { return p.cut("removed") },
		p.tidy,
	} {
		if err := step(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// tell tells what lives of an instance to end: once to serve what is under way and no
// more, as a second time would end that too, and for good when its time is over.
func (p *Provider) tell(i *instance) (left bool, err error) {
	signal := unix.SIGTERM
	if over := p.options.Now().Sub(i.Deleting) > p.grace; over {
		signal = unix.SIGKILL
	} else if i.Told {
		signal = 0
	}
	all := p.processes(i)
	for _, one := range all {
		if err := one.signal(signal); err != nil {
			return true, err
		}
	}
	if len(all) > 0 && !i.Told {
		i.Told = true
		return true, p.store.write(i)
	}
	return len(all) > 0, nil
}

// processes are those of an instance that live: the one that is known, and any other.
func (p *Provider) processes(i *instance) []process {
	left := processesOf(p.store.folder(i.Name))
	if i.started() && i.Process.alive() && !slices.Contains(left, i.Process) {
		left = append(left, i.Process)
	}
	return left
}

func (p *Provider) arguments(i *instance) []string {
	auth := given(authFile)
	arguments := slices.Concat(p.options.Command[1:], []string{
		"--listen", i.endpoint(), "--scheme", i.Scheme, "--instance", i.Name,
		"--egress-address", i.Address.String(), "--drain-timeout", drainTime.String(),
	})
	switch {
	case !i.Open:
		arguments = append(arguments, "--auth-dir", auth)
	case p.options.Network != nil: // it would not serve everybody
		arguments = append(arguments, "--allow-sources", i.Network.String())
	}
	if i.Scheme == "https" {
		arguments = append(arguments, "--tls-cert", filepath.Join(auth, certificateFile), "--tls-key", filepath.Join(auth, keyFile))
	}
	for _, network := range p.options.AllowDestinations {
		arguments = append(arguments, "--allow-destinations", network.String())
	}
	return arguments
}
