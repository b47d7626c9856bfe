package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// target is an object, or a kind, that a user names.
type target struct {
	kind string // the proper name if it is known, else as it was written
	name string // "namespace/name", or a name alone; empty for the whole kind
}

var errNoTarget = errors.New("name an object: KIND NAMESPACE/NAME, for example httproute shop/checkout")

// parseTarget reads KIND NS/NAME, KIND NAME, KIND/NS/NAME, KIND/NAME, or KIND.
func parseTarget(args []string) (target, error) {
	text := strings.Join(args, "/")
	parts := strings.Split(text, "/")
	if len(parts) > 3 || strings.Contains(text, "//") || strings.HasPrefix(text, "/") || strings.HasSuffix(text, "/") {
		return target{}, fmt.Errorf("%q names no object; write KIND NAMESPACE/NAME, for example httproute shop/checkout", strings.Join(args, " "))
	}
	t := target{kind: parts[0], name: strings.Join(parts[1:], "/")}
	if k, ok := admin.ResolveKind(t.kind); ok {
		t.kind = k.Name
		if k.ClusterScoped && len(parts) == 3 {
			return target{}, fmt.Errorf("%s has no namespace; write %s %s", k.Name, strings.ToLower(k.Name), parts[2])
		}
	}
	return t, nil
}

// knownKind refuses a kind that is not served, unless the instance has refused
// documents of it, about which it can be asked.
func (t target) knownKind(ctx context.Context, c admin.Client) error {
	if _, ok := admin.ResolveKind(t.kind); ok || t.kind == "" {
		return nil
	}
	if seen, err := c.Verdicts(ctx, t.kind); err == nil && len(seen) > 0 {
		return nil
	}
	return usage(unknownKind(t.kind))
}

// unknownKind says which kind was likely meant, and names all.
func unknownKind(kind string) error {
	var all, spellings []string
	meant := map[string]string{}
	for _, k := range admin.KindNames() {
		name := strings.ToLower(k.Name)
		all = append(all, name)
		for _, s := range append([]string{name, k.Plural}, k.Short...) {
			spellings, meant[s] = append(spellings, s), name
		}
	}
	remedy := ""
	if near, ok := spelling.Closest(kind, spellings); ok {
		remedy = "did you mean " + meant[near] + "? "
	}
	return fmt.Errorf("no kind %q; %sthe kinds are %s", kind, remedy, strings.Join(all, ", "))
}
