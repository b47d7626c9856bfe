package secret

import (
	"context"

	core_v1 "k8s.io/api/core/v1"
	api_errors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

// Generated is the annotation of Secrets whose certificate a router made, with the value
// "true". Who takes it away has the certificate to themselves.
const Generated = "gatehouse.dev/generated-certificate"

func ours(secret *core_v1.Secret) bool { return secret.Annotations[Generated] == "true" }

// mustRenew tells whether the certificate will soon be over, and is one that we made: an
// annotation alone is not enough, others may have put theirs into a Secret of ours.
func (r *reader) mustRenew(secret *core_v1.Secret) bool {
	facts := r.to.Status().Facts
	return r.Renew && ours(secret) && facts.SelfSigned && facts.Chain == 1 && facts.Expires(r.to.Now(), r.to.Threshold)
}

// generate makes the Secret. That another router was first is as good.
func (r *reader) generate(ctx context.Context) error {
	secret := &core_v1.Secret{
		Namespace: r.Namespace, Name: r.Object,
		Labels:      map[string]string{"app.kubernetes.io/managed-by": "gatehouse"},
		Annotations: map[string]string{Generated: "true"},
		Type:        core_v1.SecretTypeTLS,
	}
	facts, err := r.fill(secret)
	if err != nil {
		return err
	}
	if err := r.follow.create(ctx, secret); err != nil {
		return ignore(err, api_errors.IsAlreadyExists)
	}
	r.to.Log.Info("certificate made", observe.KeyCertificate, facts.Fingerprint, observe.KeyExpires, facts.NotAfter)
	return nil
}

// givenEmpty tells whether a certificate of ours is wanted in a Secret that others made,
// so that routers need no right to create one, which cannot be limited to a name.
func (r *reader) givenEmpty(secret *core_v1.Secret) bool {
	return r.Generate && ours(secret) && len(secret.Data[core_v1.TLSCertKey])+len(secret.Data[core_v1.TLSPrivateKeyKey]) == 0
}

// write puts a certificate into the Secret, unless that has changed since it was seen:
// then another router was first, or it is no more ours.
func (r *reader) write(ctx context.Context, seen *core_v1.Secret, done string) error {
	secret := seen.DeepCopy()
	facts, err := r.fill(secret)
	if err != nil {
		return err
	}
	if err := r.follow.update(ctx, secret); err != nil {
		return ignore(err, api_errors.IsConflict, api_errors.IsNotFound)
	}
	r.to.Log.Info(done, observe.KeyCertificate, facts.Fingerprint, observe.KeyExpires, facts.NotAfter)
	return nil
}

func ignore(err error, kinds ...func(error) bool) error {
	for _, is := range kinds {
		if is(err) {
			return nil
		}
	}
	return err
}

// fill puts a new certificate and its key into a Secret, and keeps what else it holds.
func (r *reader) fill(secret *core_v1.Secret) (tlsutil.Facts, error) {
	made, err := tlsstore.SelfSigned(r.to.Options, r.Names)
	if err != nil {
		return tlsutil.Facts{}, err
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[core_v1.TLSCertKey], secret.Data[core_v1.TLSPrivateKeyKey] = made.Cert, made.Key
	return tlsutil.Inspect(made.Cert)
}
