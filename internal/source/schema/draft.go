package schema

import (
	"crypto/sha1" // a UUID of version 5 is defined by it; nothing secret depends on it
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/validation"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// draft is an object on its way from nodes to a value.
type draft struct {
	root     *node
	kind     snapshot.Kind
	version  string
	key      store.Key
	previous Previous
	object   map[string]any // as accepted; set by the decoders
}

// checkMetadata checks name, namespace, labels, annotations and owners.
func (d *draft) checkMetadata() []Problem {
	n := d.root.get("metadata")
	if n == nil || n.shape == isNull {
		return []Problem{{Reason: NotAnObject, Field: "metadata", Line: d.root.line, Message: "required field is missing; add metadata with a name"}}
	}
	if p := checkType(n, reflect.TypeFor[meta_v1.ObjectMeta](), "metadata", d.kind.Name); len(p) > 0 {
		return p
	}
	if n.text("name") == "" {
		return []Problem{{Reason: NotAnObject, Field: "metadata.name", Line: d.root.lineOf("metadata"), Message: nameMissing(n)}}
	}
	var meta meta_v1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.metadata(), &meta); err != nil {
		return []Problem{{Reason: InvalidMetadata, Field: "metadata", Line: n.line, Message: oneLine(err.Error())}}
	}
	valid := validation.NameIsDNSSubdomain
	if rules, core := coreKinds[d.kind.Name]; core && rules.name != nil {
		valid = rules.name
	}
	errs := validation.ValidateObjectMetaAccessor(&meta, !d.kind.ClusterScoped, valid, field.NewPath("metadata"))
	return problems(d.root, "", InvalidMetadata, errs)
}

func nameMissing(meta *node) string {
	if meta.get("generateName") != nil {
		return "generateName needs an API server; give the object a name"
	}
	return "required field is missing; add it"
}

// plain returns the object as an API server would take it: without status and
// the metadata that only a server sets, in the preferred version.
func (d *draft) plain() map[string]any {
	object := d.root.plain().(map[string]any) // checkEnvelope saw to it
	delete(object, "status")
	object["apiVersion"] = apiVersion(d.kind, d.kind.Versions[0])
	object["metadata"] = d.metadata()
	return object
}

func (d *draft) metadata() map[string]any {
	meta := d.root.get("metadata").plain().(map[string]any) // checkMetadata saw to it
	for _, key := range []string{"uid", "resourceVersion", "generation", "managedFields", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName"} {
		delete(meta, key)
	}
	for key, v := range meta {
		if v == nil {
			delete(meta, key)
		}
	}
	if namespace, _ := meta["namespace"].(string); namespace == "" {
		delete(meta, "namespace")
		if !d.kind.ClusterScoped {
			meta["namespace"] = DefaultNamespace
		}
	}
	return meta
}

// value converts the accepted object to the kind's Go type.
func (d *draft) value() (snapshot.Object, error) {
	out := d.kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.object, out); err != nil {
		return nil, fmt.Errorf("convert %s from %s: %w", d.key, d.version, err)
	}
	out.SetUID(uidOf(d.kind, d.key.Name))
	return out, nil
}

// gatehouseSpace is the name space of the UIDs: a random UUID, fixed for ever.
var gatehouseSpace = [16]byte{0x8e, 0x3d, 0x5b, 0x0c, 0x51, 0x6e, 0x4d, 0x0f, 0x9a, 0x53, 0x26, 0xd1, 0x7f, 0xc4, 0xa8, 0x92}

// uidOf makes a UUID of version 5 (RFC 9562, 5.5) from kind and name, so that an
// object has the same one after a restart.
func uidOf(kind snapshot.Kind, name string) types.UID {
	sum := sha1.Sum(append(gatehouseSpace[:], kind.Name+"."+kind.Group+"/"+name...))
	u := sum[:16]
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]))
}

// hashes returns a hash of the accepted object, and one of it without metadata.
func (d *draft) hashes() (content, spec string) {
	rest := make(map[string]any, len(d.object))
	for k, v := range d.object {
		if k != "metadata" && k != "apiVersion" && k != "kind" {
			rest[k] = v
		}
	}
	spec = hashJSON(rest)
	return hashJSON([]any{spec, d.object["metadata"]}), spec
}

// hashJSON relies on encoding/json to write the keys of maps in order.
func hashJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "" // maps, lists and scalars from a document always have a JSON form
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
