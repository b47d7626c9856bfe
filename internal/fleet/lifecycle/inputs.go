package lifecycle

import (
	"errors"
	"fmt"

	core_v1 "k8s.io/api/core/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/cloudinit"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Inputs is what a Proxy refers to, resolved.
type Inputs struct {
	// Request is what an instance is to be made from, with its hash, unless there is Err.
	Request provider.CreateRequest
	// Err says why the Request is not complete.
	Err error
	// ConfigErr says why the provider's account is not known: it cannot even be asked.
	ConfigErr error
}

// InputError is a Secret that is missing or does not hold what it should. Any other
// error of [Inputs] says that it could not be read, which says nothing of it.
type InputError struct {
	Secret, Key    string // Key is empty for the Secret itself
	Reason, Remedy string
}

func (e *InputError) Error() string {
	at := "Secret " + e.Secret
	if e.Key != "" {
		at += fmt.Sprintf(", key %q", e.Key)
	}
	return fmt.Sprintf("%s: %s: %s", at, e.Reason, e.Remedy)
}

// Unread is inputs whose Secrets could not be read.
func Unread(err error) *Inputs { return &Inputs{Err: err, ConfigErr: err} }

// Refused is inputs whose provider configuration the provider finds wrong.
func Refused(p *egress_v1alpha1.Proxy, err error) *Inputs {
	return Unread(&InputError{
		Secret: p.Namespace + "/" + p.Spec.ProviderConfigRef.Name, Reason: err.Error(),
		Remedy: "correct it, or change spec.providerConfigRef of " + object(p),
	})
}

// SecretNames returns the Secrets that p needs now: all that it refers to, or when it
// is being deleted, only that of the provider's account.
func SecretNames(p *egress_v1alpha1.Proxy) []string {
	var names []string
	if ref := p.Spec.ProviderConfigRef; ref != nil {
		names = append(names, ref.Name)
	}
	if p.DeletionTimestamp == nil {
		names = append(names, instanceSecrets(p)...)
	}
	return names
}

func instanceSecrets(p *egress_v1alpha1.Proxy) []string {
	var names []string
	if c := p.Spec.CloudInit; c != nil && c.SecretRef != nil {
		names = append(names, c.SecretRef.Name)
	}
	if p.Spec.Auth != nil {
		names = append(names, p.Spec.Auth.SecretRef.Name)
	}
	return names
}

// Resolve puts together what the instance of p is made from. secrets are those of
// [SecretNames]; one that does not exist is absent.
func Resolve(p *egress_v1alpha1.Proxy, cluster string, secrets map[string]*core_v1.Secret, forward cloudinit.Forward) *Inputs {
	r := request(p, cluster)
	config, err := config(p, secrets)
	if err != nil {
		return &Inputs{Err: err, ConfigErr: err}
	}
	r.Config = config
	if p.DeletionTimestamp != nil {
		return &Inputs{Request: r}
	}
	if r.Credentials, err = credentials(p, secrets); err != nil {
		return &Inputs{Request: r, Err: err}
	}
	if r.UserData, err = userData(p, r, secrets, forward); err != nil {
		return &Inputs{Request: r, Err: err}
	}
	r.Hash = Hash(&r, p.Spec.Provider)
	return &Inputs{Request: r}
}

// request returns what the object itself says of its instance.
func request(p *egress_v1alpha1.Proxy, cluster string) provider.CreateRequest {
	s := &p.Spec
	r := provider.CreateRequest{
		Name: InstanceName(p), Cluster: cluster, UID: string(p.UID), Namespace: p.Namespace, Proxy: p.Name,
		Zone: s.Zone, MachineType: s.MachineType, Image: s.Image, Spot: s.Spot, ExternalIP: true,
		Port: egress_v1alpha1.DefaultPort, Scheme: string(egress_v1alpha1.HTTP),
	}
	if n := s.Network; n != nil {
		r.Network, r.Subnetwork = n.Network, n.Subnetwork
		r.ExternalIP = n.ExternalIP == nil || *n.ExternalIP
	}
	if e := s.Endpoint; e != nil && e.Port != 0 {
		r.Port = int(e.Port)
	}
	if e := s.Endpoint; e != nil && e.Scheme != "" {
		r.Scheme = string(e.Scheme)
	}
	if s.Auth != nil {
		r.AuthSecret = s.Auth.SecretRef.Name
	}
	return r
}

func config(p *egress_v1alpha1.Proxy, secrets map[string]*core_v1.Secret) (map[string][]byte, error) {
	if p.Spec.ProviderConfigRef == nil {
		return nil, nil
	}
	secret, err := named(p, p.Spec.ProviderConfigRef.Name, "spec.providerConfigRef", secrets)
	if err != nil {
		return nil, err
	}
	return secret.Data, nil
}

func named(p *egress_v1alpha1.Proxy, name, field string, secrets map[string]*core_v1.Secret) (*core_v1.Secret, error) {
	if secret := secrets[name]; secret != nil {
		return secret, nil
	}
	return nil, &InputError{
		Secret: p.Namespace + "/" + name, Reason: "does not exist",
		Remedy: fmt.Sprintf("create it, or change %s of proxy %s/%s", field, p.Namespace, p.Name),
	}
}

// userData returns the bytes that p gives, unchanged, or else what installs
// gatehouse-forward, for providers whose instances boot an operating system.
func userData(p *egress_v1alpha1.Proxy, r provider.CreateRequest, secrets map[string]*core_v1.Secret, forward cloudinit.Forward) ([]byte, error) {
	switch c := p.Spec.CloudInit; {
	case !boots(p.Spec.Provider):
		return nil, nil
	case c == nil:
		return rendered(p, r, forward)
	case c.SecretRef == nil:
		return []byte(c.Inline), nil
	default:
		return referred(p, c.SecretRef, secrets)
	}
}

func referred(p *egress_v1alpha1.Proxy, ref *egress_v1alpha1.SecretKeyRef, secrets map[string]*core_v1.Secret) ([]byte, error) {
	secret, err := named(p, ref.Name, "spec.cloudInit.secretRef.name", secrets)
	if err != nil {
		return nil, err
	}
	key := ref.Key
	if key == "" {
		key = "user-data"
	}
	if data := secret.Data[key]; len(data) > 0 {
		return data, nil
	}
	return nil, &InputError{
		Secret: p.Namespace + "/" + ref.Name, Key: key, Reason: "is missing or empty",
		Remedy: fmt.Sprintf("add it, or change spec.cloudInit.secretRef.key of proxy %s/%s", p.Namespace, p.Name),
	}
}

func rendered(p *egress_v1alpha1.Proxy, r provider.CreateRequest, forward cloudinit.Forward) ([]byte, error) {
	c := r.Credentials
	data, err := cloudinit.UserData(cloudinit.Request{
		Instance: r.Name, Port: r.Port, Scheme: r.Scheme, Username: c.Username, Password: c.Password,
		LeaseKey: c.LeaseKey, TLSCert: c.TLSCert, TLSKey: c.TLSKey, Forward: forward,
	})
	if err != nil {
		return nil, &FieldError{Object: object(p), Field: "spec.cloudInit", Value: "(absent)", Err: err}
	}
	return data, nil
}

// definite says whether an error of inputs is about what they hold, not about reading.
func definite(err error) bool {
	if _, ok := errors.AsType[*InputError](err); ok {
		return true
	}
	_, ok := errors.AsType[*FieldError](err)
	return ok
}
