package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// Translate compiles files, and translates them, without running anything.
func Translate(_ context.Context, o TranslateOptions, _ IO) error {
	loaded := load(o.Paths, o.ControllerName, o.Features, o.BindAddress)
	for _, f := range loaded.findings() {
		o.Finding(f)
	}
	if o.To == "model" {
		return o.Print(loaded.model(o.ShowSecrets))
	}
	out, err := loaded.resources(o.ShowSecrets)
	if err != nil {
		return err
	}
	return o.Print(out)
}

// modelDocument is the whole model, each collection in order of key.
type modelDocument struct {
	Gateways     []model.Gateway     `json:"gateways"`
	Listeners    []model.Listener    `json:"listeners"`
	Tables       []model.RouteTable  `json:"tables"`
	Hosts        []model.VirtualHost `json:"hosts"`
	Clusters     []model.Cluster     `json:"clusters"`
	Endpoints    []model.Endpoints   `json:"endpoints"`
	Certificates []model.Certificate `json:"certificates"`
}

func (l offline) model(showSecrets bool) modelDocument {
	m, s := l.graph.Compiled.Model, l.decision.State
	out := modelDocument{
		Gateways: values(s, m.Gateways), Listeners: values(s, m.Listeners), Tables: values(s, m.Tables), Hosts: values(s, m.Hosts),
		Clusters: values(s, m.Clusters), Endpoints: values(s, m.Endpoints), Certificates: values(s, m.Certificates),
	}
	if !showSecrets {
		for i := range out.Certificates {
			out.Certificates[i].Key = []byte("redacted")
		}
	}
	return out
}

func values[V any](s derive.State, of derive.Collection[V]) []V {
	out := []V{}
	for _, v := range derive.Items(s, of) {
		out = append(out, v)
	}
	return out
}

// resourceDocument is one resource as its proxies see it.
type resourceDocument struct {
	Group    string          `json:"group,omitempty"`
	Type     string          `json:"type"`
	Name     string          `json:"name"`
	Version  string          `json:"version"`
	Origins  []string        `json:"origins"`
	Resource json.RawMessage `json:"resource"`
}

func (l offline) resources(showSecrets bool) ([]resourceDocument, error) {
	out := []resourceDocument{}
	for _, collection := range l.graph.Resources() {
		for _, output := range derive.Items(l.decision.State, collection.Of) {
			if output.Resource == nil {
				continue
			}
			r := output.Resource
			body, err := envoy.JSON(*r, showSecrets)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", pipeline.ShortType(r.Type), r.Name.Name, err)
			}
			out = append(out, resourceDocument{
				Group: r.Group, Type: pipeline.ShortType(r.Type), Name: r.Name.Name, Version: r.Version, Origins: r.Origins, Resource: body,
			})
		}
	}
	return out, nil
}

func comparePlace(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
}
