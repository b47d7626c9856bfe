package verdict

import (
	"encoding/json"
	"strings"
)

// related is a Ref in JSON.
type related struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// stepFields are a Step without its methods and without Related.
type stepFields Step

type stepJSON struct {
	stepFields
	Related []related `json:"related,omitempty"`
}

// MarshalJSON writes the step with its related objects by kind, namespace and name.
func (s Step) MarshalJSON() ([]byte, error) {
	out := stepJSON{stepFields: stepFields(s)}
	for _, ref := range s.Related {
		r := related{Kind: ref.Collection, Name: ref.Name}
		if namespace, name, ok := strings.Cut(ref.Name, "/"); ok {
			r.Namespace, r.Name = namespace, name
		}
		out.Related = append(out.Related, r)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Step) UnmarshalJSON(data []byte) error {
	var in stepJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*s = Step(in.stepFields)
	s.Related = nil
	for _, r := range in.Related {
		name := r.Name
		if r.Namespace != "" {
			name = r.Namespace + "/" + r.Name
		}
		s.Related = append(s.Related, Ref{Collection: r.Kind, Name: name})
	}
	return nil
}
