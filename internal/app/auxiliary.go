package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/validator/command"
	"github.com/gatehouse-proxy/gatehouse/internal/validator/remote"
	"github.com/gatehouse-proxy/gatehouse/pkg/runner"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// auxiliary are the validators of the operator's, and the directory that programs see
// candidates in, which is there only while Gatehouse runs.
type auxiliary struct {
	dir    string
	judged []pipeline.Judged
	remote []*remote.Validator
}

func newAuxiliary(c config.Run) (auxiliary, error) {
	a := auxiliary{dir: filepath.Join(c.StateDir, "validators")}
	for _, v := range c.Validators {
		j := pipeline.Judged{Required: v.Required}
		if v.Address == "" {
			j.Validator = command.New(command.Options{
				Name: v.Name, Command: v.Command, Timeout: v.Timeout, Types: v.Types, Secrets: v.Secrets,
				Dir: filepath.Join(a.dir, v.Name), Render: envoy.JSON,
			})
		} else {
			service, err := remote.New(remote.Options{
				Name: v.Name, Address: v.Address, Timeout: v.Timeout, Types: v.Types, Body: bodyFor(v),
			})
			if err != nil {
				return a, err
			}
			j.Validator, a.remote = service, append(a.remote, service)
		}
		a.judged = append(a.judged, j)
	}
	return a, nil
}

// bodyFor is what a service sees of a resource.
func bodyFor(v config.Validator) func(xdsserve.Resource) ([]byte, error) {
	if v.Secrets {
		return func(r xdsserve.Resource) ([]byte, error) { return r.Body, nil }
	}
	return envoy.Redacted
}

// components start before the loop, and once the state directory is claimed.
func (a auxiliary) components() []runner.Component {
	return []runner.Component{{Name: "validators", Start: a.clear, Stop: a.stop}}
}

// clear leaves no candidate behind, also none of a run that crashed.
func (a auxiliary) clear(context.Context) error { return os.RemoveAll(a.dir) }

// stop comes after the loop, which asks the validators.
func (a auxiliary) stop(ctx context.Context) error {
	var errs []error
	for _, service := range a.remote {
		errs = append(errs, service.Close())
	}
	return errors.Join(append(errs, a.clear(ctx))...)
}
