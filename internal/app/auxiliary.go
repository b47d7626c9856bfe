package app

import (
	"context"
	"os"
	"path/filepath"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/validator/command"
	"github.com/gatehouse-proxy/gatehouse/pkg/runner"
)

// auxiliary are the validators of the operator's, and the directory that they see
// candidates in, which is there only while Gatehouse runs.
type auxiliary struct {
	dir string
	all []config.Validator
}

func newAuxiliary(c config.Run) auxiliary {
	return auxiliary{dir: filepath.Join(c.StateDir, "validators"), all: c.Validators}
}

// components start before the loop, and once the state directory is claimed.
func (a auxiliary) components() []runner.Component {
	return []runner.Component{{Name: "validators", Start: a.clear, Stop: a.clear}}
}

// clear leaves no candidate behind, also none of a run that crashed.
func (a auxiliary) clear(context.Context) error { return os.RemoveAll(a.dir) }

// judged are the validators as the loop asks them.
func (a auxiliary) judged() []pipeline.Judged {
	var out []pipeline.Judged
	for _, v := range a.all {
		out = append(out, pipeline.Judged{Required: v.Required, Validator: command.New(command.Options{
			Name: v.Name, Command: v.Command, Timeout: v.Timeout, Types: v.Types, Secrets: v.Secrets,
			Dir: filepath.Join(a.dir, v.Name), Render: envoy.JSON,
		})})
	}
	return out
}
