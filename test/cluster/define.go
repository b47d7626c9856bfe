package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	apiextensions_v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Define makes a kind known to the API server, or its definition newer, and returns when
// the API server serves it. The definition is YAML or JSON; it stays with the cluster.
func (c *Cluster) Define(tb testing.TB, definition []byte) {
	tb.Helper()
	var d apiextensions_v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition, &d); err != nil {
		tb.Fatal(err)
	}
	d.APIVersion, d.Kind = apiextensions_v1.SchemeGroupVersion.String(), "CustomResourceDefinition"
	body, err := json.Marshal(d)
	if err != nil {
		tb.Fatal(err)
	}
	client, err := apiextensions.NewForConfig(c.Config())
	if err != nil {
		tb.Fatal(err)
	}
	definitions, force := client.CustomResourceDefinitions(), true
	options := meta_v1.PatchOptions{FieldManager: "test", Force: &force, FieldValidation: meta_v1.FieldValidationStrict}
	if _, err := definitions.Patch(tb.Context(), d.Name, types.ApplyPatchType, body, options); err != nil {
		tb.Fatalf("define %s: %v", d.Name, err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), startTime)
	defer cancel()
	if err := c.await(ctx, func(ctx context.Context) error { return established(ctx, definitions, d.Name) }); err != nil {
		tb.Fatalf("%s is not served: %v", d.Name, err)
	}
}

func established(ctx context.Context, definitions apiextensions.CustomResourceDefinitionInterface, name string) error {
	d, err := definitions.Get(ctx, name, meta_v1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range d.Status.Conditions {
		if condition.Type == apiextensions_v1.Established && condition.Status == apiextensions_v1.ConditionTrue {
			return nil
		}
	}
	return errors.New("it is not established")
}
