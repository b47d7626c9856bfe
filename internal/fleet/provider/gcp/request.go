package gcp

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

const (
	// DefaultMachineType is for Proxies that name none.
	DefaultMachineType = "e2-micro"
	// DefaultImage is for Proxies that name none. An image must have cloud-init, which
	// those of debian-cloud have not.
	DefaultImage = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64"

	// Tag is a network tag of every instance, for rules of a firewall.
	Tag = "gatehouse-proxy"

	// mostUserData is how long a value of an instance's metadata can be.
	mostUserData = 256 << 10

	// repeatWindow is how long a repeated create counts as the same request. Google
	// remembers a request for longer, and answers one that repeats it with the outcome of
	// the first, although the instance may be gone since: preempted, or never made for
	// want of quota. Beyond the window, as between any two creates, the name keeps them
	// from doubling.
	repeatWindow = time.Minute
)

var (
	labelForm = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)
	// What names other things: NAME, or parts of a path.
	pathForm = regexp.MustCompile(`^(https://(www|compute)\.googleapis\.com/(compute/)?[a-z0-9]+/)?[a-zA-Z0-9][-a-zA-Z0-9._:]*(/[a-zA-Z0-9][-a-zA-Z0-9._:]*)*$`)
)

// buildInsertRequest says how an instance is made. It is pure: the same request within
// the same minute gives the same answer. What is wrong with r is [provider.ErrPermanent]
// and names the field.
func buildInsertRequest(r provider.CreateRequest, project string, now time.Time) (*computepb.InsertInstanceRequest, error) {
	at := location{project, r.Zone, r.Name}
	if err := checkRequest(r, at); err != nil {
		return nil, err
	}
	it := &computepb.Instance{
		Name:                   new(r.Name),
		Description:            new("Forward proxy " + r.Namespace + "/" + r.Proxy + " of Gatehouse"),
		MachineType:            new(machineType(r, at)),
		Labels:                 labels(r),
		Tags:                   &computepb.Tags{Items: []string{Tag}},
		Disks:                  []*computepb.AttachedDisk{bootDisk(r)},
		NetworkInterfaces:      []*computepb.NetworkInterface{networkInterface(r, at)},
		Metadata:               metadata(r.UserData),
		Scheduling:             scheduling(r.Spot),
		ShieldedInstanceConfig: &computepb.ShieldedInstanceConfig{EnableSecureBoot: new(true), EnableVtpm: new(true), EnableIntegrityMonitoring: new(true)},
		CanIpForward:           new(false),
		DeletionProtection:     new(false),
		// No ServiceAccounts: nothing on the instance can act in the project.
	}
	return &computepb.InsertInstanceRequest{
		Project: at.project, Zone: at.zone, InstanceResource: it, RequestId: new(requestID(r, at, it, now)),
	}, nil
}

func checkRequest(r provider.CreateRequest, at location) error {
	if err := at.check(); err != nil {
		return err
	}
	for field, value := range map[string]string{
		"label " + egress_v1alpha1.ClusterLabel: r.Cluster,
		"label " + egress_v1alpha1.UIDLabel:     r.UID,
		"label " + egress_v1alpha1.HashLabel:    provider.LabelHash(r.Hash),
	} {
		if !labelForm.MatchString(value) {
			return fmt.Errorf("%w: %s %q is not 1 to 63 lower-case letters, digits, dashes and underscores", provider.ErrPermanent, field, value)
		}
	}
	if r.MachineType != "" && !pathForm.MatchString(r.MachineType) {
		return fmt.Errorf("%w: spec.machineType %q is no machine type: give one such as e2-micro", provider.ErrPermanent, r.MachineType)
	}
	for field, value := range map[string]string{"spec.image": r.Image, "spec.network.network": r.Network, "spec.network.subnetwork": r.Subnetwork} {
		if value != "" && !pathForm.MatchString(value) {
			return fmt.Errorf("%w: %s %q is neither a name nor a path such as projects/P/global/…", provider.ErrPermanent, field, value)
		}
	}
	if len(encoded(r.UserData)) > mostUserData {
		return fmt.Errorf("%w: user data of %d bytes is longer than the %d that an instance's metadata takes", provider.ErrPermanent, len(r.UserData), mostUserData)
	}
	return nil
}

func labels(r provider.CreateRequest) map[string]string {
	return map[string]string{
		egress_v1alpha1.ClusterLabel: r.Cluster,
		egress_v1alpha1.UIDLabel:     r.UID,
		egress_v1alpha1.HashLabel:    provider.LabelHash(r.Hash),
	}
}

func machineType(r provider.CreateRequest, at location) string {
	name := r.MachineType
	if name == "" {
		name = DefaultMachineType
	}
	return "zones/" + at.zone + "/machineTypes/" + name
}

// image completes a short form: NAME of the project itself, or PROJECT/FAMILY.
func image(given string) string {
	switch strings.Count(given, "/") {
	case 0:
		if given == "" {
			return DefaultImage
		}
		return "global/images/" + given
	case 1:
		project, family, _ := strings.Cut(given, "/")
		if project == "family" {
			return "global/images/family/" + family
		}
		return "projects/" + project + "/global/images/family/" + family
	}
	return given
}

// bootDisk goes with its instance. It has the labels too, so that bills can tell.
func bootDisk(r provider.CreateRequest) *computepb.AttachedDisk {
	return &computepb.AttachedDisk{
		Boot: new(true), AutoDelete: new(true),
		InitializeParams: &computepb.AttachedDiskInitializeParams{SourceImage: new(image(r.Image)), Labels: labels(r)},
	}
}

func networkInterface(r provider.CreateRequest, at location) *computepb.NetworkInterface {
	out := &computepb.NetworkInterface{}
	switch {
	case r.Network != "":
		out.Network = new(under("global/networks/", r.Network))
	case r.Subnetwork == "":
		out.Network = new("global/networks/default")
	}
	if r.Subnetwork != "" {
		out.Subnetwork = new(under("regions/"+at.region()+"/subnetworks/", r.Subnetwork))
	}
	if r.ExternalIP {
		out.AccessConfigs = []*computepb.AccessConfig{{Type: new("ONE_TO_ONE_NAT"), Name: new("External NAT")}}
	}
	return out
}

// under completes a bare name.
func under(folder, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return folder + name
}

func metadata(userData []byte) *computepb.Metadata {
	out := &computepb.Metadata{Items: []*computepb.Items{{Key: new("block-project-ssh-keys"), Value: new("true")}}}
	if userData == nil {
		return out
	}
	out.Items = append(out.Items, &computepb.Items{Key: new("user-data"), Value: new(encoded(userData))})
	if !utf8.Valid(userData) {
		out.Items = append(out.Items, &computepb.Items{Key: new("user-data-encoding"), Value: new("base64")})
	}
	return out
}

// encoded is user data as metadata has it: compressed bytes are no text.
func encoded(userData []byte) string {
	if utf8.Valid(userData) {
		return string(userData)
	}
	return base64.StdEncoding.EncodeToString(userData)
}

// scheduling of a spot instance deletes it when it is taken back, so that no disk is
// left to pay for.
func scheduling(spot bool) *computepb.Scheduling {
	if !spot {
		return nil
	}
	return &computepb.Scheduling{
		ProvisioningModel: new("SPOT"), InstanceTerminationAction: new("DELETE"),
		AutomaticRestart: new(false), OnHostMaintenance: new("TERMINATE"),
	}
}

// requestID is a UUID that only repeats of the very same request within the window have.
func requestID(r provider.CreateRequest, at location, it *computepb.Instance, now time.Time) string {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(it)
	if err != nil {
		body = []byte(r.Hash)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "gatehouse\x00%s\x00%s\x00%s\x00%d\x00", at, r.UID, r.Hash, now.Unix()/int64(repeatWindow.Seconds()))
	sum.Write(body)
	return uuid.NewSHA1(uuid.NameSpaceOID, sum.Sum(nil)).String()
}

// following is the ID of a request that is made because the one before, which has ended
// as the operation, is over.
func following(id, operation string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(id+"\x00"+operation)).String()
}
