package pipeline

import (
	"encoding/json"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// outline is what of an object tells whose it is.
type outline struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		// Deletion is set of what goes as soon as its finalizers are done.
		Deletion *string `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Controller string      `json:"controllerName"`
		Class      string      `json:"gatewayClassName"`
		Default    string      `json:"useDefaultGateways"`
		Parent     *parentRef  `json:"parentRef"`
		Parents    []parentRef `json:"parentRefs"`
	} `json:"spec"`
}

type parentRef struct {
	Group     *string `json:"group"`
	Kind      *string `json:"kind"`
	Namespace *string `json:"namespace"`
	Name      string  `json:"name"`
}

// outlineOf reads an object as far as it has the form; what has not is for the schema
// to say.
func outlineOf(raw []byte) outline {
	var o outline
	_ = json.Unmarshal(raw, &o)
	return o
}

func (o outline) key() store.Key {
	kind, _ := snapshot.KindOf(o.Kind)
	namespace := o.Metadata.Namespace
	if namespace == "" {
		namespace = schema.DefaultNamespace
	}
	if kind.ClusterScoped {
		namespace = ""
	}
	return snapshot.Ref(o.Kind, namespace, o.Metadata.Name)
}

// owners finds out which objects are certainly no business of this controller, in the
// view that a proposal would make. Law: whatever becomes of such an object, no resource
// changes. Whether an object has an effect is for the compiler to say; this only saves
// it, and the schema, what another controller may write in another version.
type owners struct {
	controller gateway_v1.GatewayController
	view       store.View
	proposed   map[store.Key]outline
}

// find returns an object as it would be.
func (w owners) find(key store.Key) (outline, bool) {
	if o, ok := w.proposed[key]; ok {
		return o, true
	}
	return w.observed(key)
}

// observed returns an object as it is.
func (w owners) observed(key store.Key) (outline, bool) {
	value, ok := w.view.Get(key)
	if !ok {
		return outline{}, false
	}
	raw, err := json.Marshal(value)
	return outlineOf(raw), err == nil
}

// foreign reports whether an object is another controller's.
func (w owners) foreign(kind, namespace string, o outline) bool {
	switch kind {
	case "GatewayClass":
		return o.Spec.Controller != "" && o.Spec.Controller != string(w.controller)
	case "Gateway":
		class, ok := w.find(store.Key{Collection: "GatewayClass", Name: o.Spec.Class})
		return ok && w.foreign("GatewayClass", "", class)
	case "ListenerSet":
		return o.Spec.Parent != nil && w.foreignParent(namespace, *o.Spec.Parent)
	case "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute":
		for _, ref := range o.Spec.Parents {
			if !w.foreignParent(namespace, ref) {
				return false
			}
		}
		return len(o.Spec.Parents) > 0 && o.Spec.Default == ""
	default:
		return false
	}
}

// foreignParent reports whether a parent is another controller's; one that does not
// exist is nobody's yet.
func (w owners) foreignParent(namespace string, ref parentRef) bool {
	group, kind := orText(ref.Group, gateway_v1.GroupName), orText(ref.Kind, "Gateway")
	switch {
	case group == "" && kind == "Service":
		return true // a mesh's
	case group != gateway_v1.GroupName, kind != "Gateway" && kind != "ListenerSet":
		return false
	}
	namespace = orText(ref.Namespace, namespace)
	parent, ok := w.find(snapshot.Ref(kind, namespace, ref.Name))
	return ok && w.foreign(kind, namespace, parent)
}

func orText(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}
