package lifecycle

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

func example() provider.CreateRequest {
	return provider.CreateRequest{
		Name: "px-1", UID: "1", Zone: "europe-west1-b", MachineType: "e2-micro", Image: "projects/debian-cloud/global/images/family/debian-12",
		Network: "default", ExternalIP: true, Port: 3128, Scheme: "http",
		Credentials: provider.Credentials{Username: "crawler", Password: "a password", LeaseKey: []byte(strings.Repeat("k", 32))},
		Config:      map[string][]byte{"project": []byte("p"), "credentials.json": []byte("{}")},
		UserData:    []byte(strings.Repeat("#cloud-config\n", 1000)),
	}
}

// TestHashOfAnExampleStays: another hash for the same request replaces every instance of
// every fleet at an upgrade. If that is what is wanted, say so in the changelog.
func TestHashOfAnExampleStays(t *testing.T) {
	r := example()
	const want = "820e8c03370f6ab429127c148d19020ed35133b08b112d11df3e459cf1cb3201"
	if got := Hash(&r, "gcp"); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestWhatAnInstanceIsMadeFromIsInItsHash(t *testing.T) {
	base := example()
	before := Hash(&base, "gcp")
	for what, change := range map[string]func(*provider.CreateRequest){
		"zone":        func(r *provider.CreateRequest) { r.Zone = "b" },
		"machineType": func(r *provider.CreateRequest) { r.MachineType = "b" },
		"image":       func(r *provider.CreateRequest) { r.Image = "b" },
		"spot":        func(r *provider.CreateRequest) { r.Spot = true },
		"network":     func(r *provider.CreateRequest) { r.Network = "b" },
		"subnetwork":  func(r *provider.CreateRequest) { r.Subnetwork = "b" },
		"external IP": func(r *provider.CreateRequest) { r.ExternalIP = false },
		"port":        func(r *provider.CreateRequest) { r.Port++ },
		"scheme":      func(r *provider.CreateRequest) { r.Scheme = "socks5" },
		"user data":   func(r *provider.CreateRequest) { r.UserData = r.UserData[1:] },
		"username":    func(r *provider.CreateRequest) { r.Credentials.Username = "b" },
		"password":    func(r *provider.CreateRequest) { r.Credentials.Password = "b" },
		"lease key":   func(r *provider.CreateRequest) { r.Credentials.LeaseKey = []byte("b") },
		"certificate": func(r *provider.CreateRequest) { r.Credentials.TLSCert = []byte("b") },
		"key":         func(r *provider.CreateRequest) { r.Credentials.TLSKey = []byte("b") },
		"project":     func(r *provider.CreateRequest) { r.Config["project"] = []byte("b") },
	} {
		r := base
		r.Config = maps.Clone(base.Config)
		change(&r)
		if Hash(&r, "gcp") == before {
			t.Errorf("%s changes nothing", what)
		}
	}
	if Hash(&base, "hetzner") == before {
		t.Error("the provider changes nothing")
	}
}

func TestWhatAnInstanceIsNotMadeFromIsNotInItsHash(t *testing.T) {
	r := example()
	before := Hash(&r, "gcp")
	r.Config["credentials.json"] = []byte("rotated")
	r.Config["token"] = []byte("new")
	r.AuthSecret = "renamed"
	if Hash(&r, "gcp") != before {
		t.Error("a rotated key of the account, or a renamed Secret of the same content, replaces instances")
	}
}

// TestHashIsUnambiguous: two requests have the same hash only if they are the same,
// also if a byte has moved from one value to its neighbour.
func TestHashIsUnambiguous(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00")), 0, 3, -1)
	bytes := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00")), 0, 2)
	request := rapid.Custom(func(t *rapid.T) provider.CreateRequest {
		return provider.CreateRequest{
			Zone: text.Draw(t, "zone"), MachineType: text.Draw(t, "type"), Image: text.Draw(t, "image"),
			Network: text.Draw(t, "network"), Subnetwork: text.Draw(t, "subnetwork"), Scheme: text.Draw(t, "scheme"),
			Credentials: provider.Credentials{Username: text.Draw(t, "user"), Password: text.Draw(t, "password"), LeaseKey: bytes.Draw(t, "key"), TLSCert: bytes.Draw(t, "cert"), TLSKey: bytes.Draw(t, "tls key")},
			Config:      rapid.MapOfN(text, bytes, 0, 2).Draw(t, "config"), UserData: bytes.Draw(t, "data"),
		}
	})
	seen := map[string]provider.CreateRequest{}
	rapid.Check(t, func(t *rapid.T) {
		r := request.Draw(t, "request")
		h := Hash(&r, "gcp")
		if old, ok := seen[h]; ok && !reflect.DeepEqual(old, r) {
			t.Fatalf("%+v and %+v have one hash", old, r)
		}
		seen[h] = r
		moved := r
		if n := len(r.Zone); n > 0 {
			moved.Zone, moved.MachineType = r.Zone[:n-1], r.Zone[n-1:]+r.MachineType
			if Hash(&moved, "gcp") == h {
				t.Fatalf("%+v: a byte moved to the next value changes nothing", r)
			}
		}
	})
}

func TestHashAllocatesLittle(t *testing.T) {
	r := example()
	r.Config = nil
	if n := testing.AllocsPerRun(100, func() { Hash(&r, "gcp") }); n > 3 {
		t.Errorf("%v allocations, want 3 at most: the encoding, the sum, the text", n)
	}
}

// sides are the hash of an example, and SHA-256 over the same bytes.
func sides() (ours, theirs func()) {
	r := example()
	all := append(encode(&r, "gcp"), r.UserData...)
	return func() { Hash(&r, "gcp") }, func() { sha256.Sum256(all) }
}

func BenchmarkHash(b *testing.B) {
	ours, theirs := sides()
	for _, side := range []struct {
		name string
		run  func()
	}{{"hash", ours}, {"sha256", theirs}} {
		b.Run(side.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				side.run()
			}
		})
	}
}

func TestTheLabelHoldsHalfOfTheHash(t *testing.T) {
	r := example()
	h := Hash(&r, "gcp")
	if len(h) != 64 || !slices.Equal([]byte(provider.LabelHash(h)), []byte(h[:32])) {
		t.Errorf("hash %s, label %s", h, fmt.Sprint(provider.LabelHash(h)))
	}
}
