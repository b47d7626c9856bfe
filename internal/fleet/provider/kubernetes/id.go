package kubernetes

import (
	"fmt"
	"strings"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// place is an ID: NAMESPACE/NAME/UID, of which the UID tells the pod that was made from
// one that somebody made afterwards with its name.
type place struct {
	namespace, name string
	uid             types.UID
}

func idOf(pod *core_v1.Pod) string { return pod.Namespace + "/" + pod.Name + "/" + string(pod.UID) }

// parseID returns ErrNotFound for text of another form: no pod has such an ID.
func parseID(id string) (place, error) {
	parts := strings.Split(id, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return place{}, fmt.Errorf("%w: the ID %q is not NAMESPACE/NAME/UID", provider.ErrNotFound, id)
	}
	return place{parts[0], parts[1], types.UID(parts[2])}, nil
}
