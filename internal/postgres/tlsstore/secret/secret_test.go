package secret

import (
	"bytes"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// A Secret that others care for is followed, and never written.
func TestFollow(t *testing.T) {
	w := newWorld(t, cluster.Shared(t))
	w.Generate = false
	r := w.run(t, nil)
	r.until(t, "says that there is none", func() bool {
		return r.Waits() == "the certificate in Secret "+w.Namespace+"/router: it does not exist; create it, for example with \"kubectl create secret tls\", or turn TLS_AUTO_GENERATE on"
	})
	first, second, third := signed(t, 100), selfSigned(t, 100), signed(t, 200)
	w.put(t, first, nil)
	r.serves(t, fingerprint(t, first))
	if why := r.Waits(); why != "" {
		t.Errorf("it serves and waits for %s", why)
	}
	w.put(t, second, nil)
	r.serves(t, fingerprint(t, second))
	for _, bad := range []struct {
		pair tlsutil.Pair
		says string
	}{
		{tlsutil.Pair{Cert: []byte("nonsense"), Key: second.Key}, "tls.crt and tls.key: certificate is "},
		{tlsutil.Pair{Cert: first.Cert, Key: second.Key}, "tls.crt and tls.key: private key does not match certificate"},
		{tlsutil.Pair{Cert: []byte{}, Key: second.Key}, "it has no tls.crt; "},
	} {
		w.put(t, bad.pair, nil)
		r.says(t, bad.says)
		if got := r.Status(); got.Facts.Fingerprint != fingerprint(t, second) || got.Refused == nil {
			t.Errorf("with %s it serves %s, refused %v", bad.says, got.Facts.Fingerprint, got.Refused)
		}
	}
	w.put(t, third, nil)
	r.serves(t, fingerprint(t, third))
	w.remove(t)
	r.says(t, "it does not exist")
	if err := r.shake(t, third.Cert, "localhost"); r.Status().Refused != nil || r.Status().Facts.Fingerprint != fingerprint(t, third) {
		t.Errorf("after the end of the Secret: %+v, %v", r.Status(), err)
	}
	w.put(t, first, nil)
	r.serves(t, fingerprint(t, first))
	if text := r.log.String(); bytes.Contains([]byte(text), []byte("PRIVATE")) {
		t.Errorf("the log has a key: %s", text)
	}
}

func TestMake(t *testing.T) {
	w := newWorld(t, cluster.Shared(t), "create", "update")
	r := w.run(t, nil)
	r.until(t, "serves", func() bool { return r.Waits() == "" })
	secret, facts := w.get(t), r.Status().Facts
	if secret.Type != core_v1.SecretTypeTLS || !ours(secret) || secret.Labels["app.kubernetes.io/managed-by"] != "gatehouse" {
		t.Errorf("made %s with %+v", secret.Type, secret.ObjectMeta)
	}
	names := slices.Clone(w.Names)
	slices.Sort(names)
	if fingerprint(t, pair(secret)) != facts.Fingerprint || facts.Key != "ECDSA P-256" || !facts.SelfSigned || !slices.Equal(facts.Names, names) {
		t.Errorf("made %+v", facts)
	}
	if left := time.Until(facts.NotAfter); left < 364*day || left > 366*day {
		t.Errorf("it is over in %s", left)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "pg." + w.Namespace + ".svc"} {
		if err := r.shake(t, secret.Data[core_v1.TLSCertKey], host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	w.remove(t)
	r.until(t, "makes another", func() bool { return r.Status().Loads == 2 })
}

// A Secret that is given empty is filled without the right to create one, whatever its
// type and whatever else it holds, and is one of ours from then on.
func TestGivenEmpty(t *testing.T) {
	w := newWorld(t, cluster.Shared(t), "update")
	given := &core_v1.Secret{Name: w.Object, Annotations: map[string]string{Generated: "true"}, Data: map[string][]byte{"note": []byte("x")}}
	if _, err := w.secrets.Create(t.Context(), given, meta_v1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := w.run(t, nil)
	r.until(t, "serves", func() bool { return r.Waits() == "" })
	secret := w.get(t)
	if fingerprint(t, pair(secret)) != r.Status().Facts.Fingerprint || string(secret.Data["note"]) != "x" || !ours(secret) {
		t.Errorf("it holds %d keys, with %+v", len(secret.Data), secret.ObjectMeta)
	}
}

// What others made and took away is theirs to make again.
func TestMakeNothingOverOthers(t *testing.T) {
	w := newWorld(t, cluster.Shared(t), "create", "update")
	r := w.run(t, nil)
	r.until(t, "serves", func() bool { return r.Waits() == "" })
	theirs := signed(t, 100)
	w.put(t, theirs, nil)
	r.serves(t, fingerprint(t, theirs))
	w.remove(t)
	r.says(t, "it was deleted; create it again")
	if made := w.get(t); made != nil {
		t.Errorf("it made %s", made.Name)
	}
}

// Routers that start at once serve what one of them made, and renew it once.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t, cluster.Shared(t), "create", "update")
	made := w.agree(t, nil, "certificate made", "")
	annotations := w.get(t).Annotations
	annotations["team"] = "storage"
	w.put(t, pair(w.get(t)), annotations)
	renewed := w.agree(t, func() time.Time { return time.Now().Add(340 * day) }, "certificate renewed", made)
	if renewed == made {
		t.Error("it was not renewed")
	}
	secret := w.get(t)
	if left := time.Until(must(tlsutil.Inspect(secret.Data[core_v1.TLSCertKey]))(t).NotAfter); left < 700*day {
		t.Errorf("the new one is over in %s", left)
	}
	if !ours(secret) || secret.Annotations["team"] != "storage" {
		t.Errorf("annotations are %v", secret.Annotations)
	}
}

// agree runs routers at once until all serve what is in the Secret, and not what was there
// before. It returns its fingerprint. One of them must have done it, by its log.
func (w *world) agree(t *testing.T, now func() time.Time, does, before string) string {
	t.Helper()
	const routers = 4
	var all []running
	for range routers {
		all = append(all, w.run(t, now))
	}
	for _, r := range all {
		r.until(t, "serves another", func() bool { return r.Waits() == "" && r.Status().Facts.Fingerprint != before })
	}
	found, count := fingerprint(t, pair(w.get(t))), 0
	for _, r := range all {
		r.serves(t, found)
		count += r.log.count(does)
	}
	if count != 1 {
		t.Errorf("%d routers say %q, want one", count, does)
	}
	return found
}

// A router that runs on renews what it serves before its end.
func TestRenewInTime(t *testing.T) {
	w := newWorld(t, cluster.Shared(t), "create", "update")
	source := must(New(w.config, w.Options))(t)
	source.look = 20 * time.Millisecond
	var later atomic.Int64 // days
	r := start(t, source, func() time.Time { return time.Now().Add(time.Duration(later.Load()) * day) })
	r.until(t, "serves", func() bool { return r.Waits() == "" })
	for i, days := range []int64{340, 680, 1020} {
		later.Store(days)
		r.until(t, "renews", func() bool { return r.Status().Loads == uint64(i)+2 })
		if left := r.Status().Facts.NotAfter.Sub(r.Now()); left < 364*day {
			t.Errorf("on day %d the new one is over in %s", days, left)
		}
	}
	if n := r.log.count("certificate renewed"); n != 3 {
		t.Errorf("it was renewed %d times: %s", n, r.log)
	}
}

// Only what we made, by its annotation and its signature, is renewed.
func TestRenewNothingElse(t *testing.T) {
	annotated := map[string]string{Generated: "true"}
	for name, c := range map[string]struct {
		pair        tlsutil.Pair
		annotations map[string]string
		renew       bool
	}{
		"an authority's in a Secret of ours": {signed(t, 10), annotated, true},
		"self-signed by others":              {selfSigned(t, 10), nil, true},
		"ours, but that is off":              {selfSigned(t, 10), annotated, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cluster.Shared(t), "create", "update")
			w.Renew = c.renew
			put := w.put(t, c.pair, c.annotations)
			r := w.run(t, nil)
			r.says(t, "certificate expires soon")
			if now := w.get(t); !bytes.Equal(now.Data[core_v1.TLSCertKey], put.Data[core_v1.TLSCertKey]) || r.log.count("renewed") != 0 {
				t.Errorf("it was replaced: %s", r.log)
			}
		})
	}
}

// Rights that are missing are said, and there is another try.
func TestMayNotMake(t *testing.T) {
	w := newWorld(t, cluster.Shared(t))
	r := w.run(t, nil)
	r.says(t, "it cannot be made: secrets is forbidden")
	given := signed(t, 100)
	w.put(t, given, nil)
	r.serves(t, fingerprint(t, given))
}

// A router that starts while the API is away waits for it, and one that serves goes on.
func TestOutage(t *testing.T) {
	c := cluster.Start(t)
	w := newWorld(t, c, "create", "update")
	c.StopAPIServer(t)
	r := w.run(t, nil)
	r.until(t, "says that the API is away", func() bool {
		return bytes.HasPrefix([]byte(r.Waits()), []byte("the certificate in Secret "+w.Namespace+"/router: the Kubernetes API cannot be asked: "))
	})
	if err := r.shake(t, nil, "localhost"); err == nil {
		t.Error("a handshake without a certificate succeeds")
	}
	c.StartAPIServer(t)
	r.until(t, "serves", func() bool { return r.Waits() == "" })
	served := r.Status().Facts.Fingerprint
	c.StopAPIServer(t)
	r.says(t, "the Secret cannot be watched, what it held serves on")
	if now := r.Status(); now.Facts.Fingerprint != served || r.Waits() != "" {
		t.Errorf("while the API is away it serves %+v and waits for %q", now.Facts, r.Waits())
	}
	c.StartAPIServer(t)
	r.says(t, "the Secret is watched again")
	theirs := signed(t, 100)
	w.put(t, theirs, nil)
	r.serves(t, fingerprint(t, theirs))
}

func pipe(t *testing.T) (here, there net.Conn) {
	t.Helper()
	here, there = net.Pipe()
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	return here, there
}
