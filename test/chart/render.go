package chart

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Router and Fleet are the charts, seen from this package.
const (
	Router = "../../charts/gatehouse-postgres"
	Fleet  = "../../charts/gatehouse-fleet"
)

// Render returns the documents that Helm would apply for a release of a chart, in the order
// of their files, without a cluster to look things up in. Values are YAML.
func Render(folder, name, namespace, values string) ([]byte, error) {
	c, err := loader.Load(folder)
	if err != nil {
		return nil, fmt.Errorf("load the chart: %w", err)
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		return nil, fmt.Errorf("read the values: %w", err)
	}
	release := common.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c, given, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		for document := range strings.SplitSeq("\n"+files[path], "\n---\n") {
			if document = strings.TrimSpace(document); document != "" {
				fmt.Fprintf(&out, "---\n%s\n", document)
			}
		}
	}
	return out.Bytes(), nil
}

// Objects reads what [Render] returns.
func Objects(rendered []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, document := range bytes.Split(rendered, []byte("---\n"))[1:] {
		o := new(unstructured.Unstructured)
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			return nil, fmt.Errorf("%w in:\n%s", err, document)
		}
		out = append(out, o)
	}
	return out, nil
}
