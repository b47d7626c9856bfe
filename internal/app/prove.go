package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/xds"
	"github.com/gatehouse-proxy/gatehouse/internal/validator/prover"
	"github.com/gatehouse-proxy/gatehouse/pkg/runner"
)

// How the proving Envoy runs: it serves nobody, so that nothing drains, and what ends
// it is a candidate more often than not, so that it is back soon.
const (
	proverDrain    = time.Second
	proverMaxPause = 2 * time.Second
	proverNice     = 5
)

// proof is the proving Envoy with the server that it connects to, both apart from those
// that serve: in a directory of their own inside the state directory.
type proof struct {
	*prover.Prover
	options   host.Options
	target    *xds.Target
	processes *host.Supervisor
}

func (i *instance) newProof() (*proof, error) {
	state := filepath.Join(i.config.StateDir, "prover")
	sockets, err := host.SocketDir(state)
	if err != nil {
		return nil, err
	}
	p := &proof{}
	p.options = host.Options{
		Envoy: i.envoy, StateDir: state, XDSSocket: filepath.Join(sockets, "xds.sock"),
		DrainTimeout: time.Millisecond, DrainTime: proverDrain, MaxPause: proverMaxPause, Isolated: true, Nice: proverNice,
		Log: i.io.Log, Observe: p.news(i.io.Log),
	}
	p.target = xds.New(p.options.XDSSocket, i.config.XDSMaxReceiveBytes, prover.ServerOptions())
	p.Prover, err = prover.New(prover.Options{Target: p.target, Process: p, Log: i.io.Log})
	return p, err
}

// components start before the loop, which asks the proving Envoy about everything.
func (p *proof) components() []runner.Component {
	if p == nil {
		return nil
	}
	return []runner.Component{
		{Name: "proving envoy's xds", Start: p.target.Start, Run: p.target.Run, Stop: p.stop},
		{Name: "proving envoy", Start: p.start, Run: p.Run, Stop: func(ctx context.Context) error { return p.processes.Stop(ctx) }},
	}
}

func (p *proof) start(ctx context.Context) (err error) {
	if p.processes, err = host.New(ctx, p.options); err != nil {
		return err
	}
	p.processes.Ensure([]model.Gateway{{ID: prover.Group, Settings: model.Settings{Concurrency: 1}}}) //nolint:contextcheck // processes outlive the start
	return nil
}

// stop is the last to need the directory of sockets.
func (p *proof) stop(ctx context.Context) error {
	return errors.Join(p.target.Stop(ctx), host.RemoveSocketDir(filepath.Dir(p.options.XDSSocket)))
}

// judged is the proving Envoy as the loop asks it.
func (p *proof) judged(mode config.Prover) []pipeline.Judged {
	if p == nil {
		return nil
	}
	return []pipeline.Judged{{Validator: p.Prover, Required: mode == config.ProverRequired}}
}

// news tells of the process.
func (p *proof) news(log *slog.Logger) func(host.Event) {
	return func(e host.Event) {
		if e.Kind == host.Exited && e.Err != nil {
			log.Warn("proving envoy exited", observe.KeyPID, e.PID, observe.KeyError, e.Err, observe.KeyRestart, e.Restart)
			p.Died(e.Err)
			return
		}
		log.Debug("proving envoy "+string(e.Kind), observe.KeyPID, e.PID)
	}
}

// Answers implements prover.Process.
func (p *proof) Answers(ctx context.Context) error { return p.processes.Answers(ctx, prover.Group) }

// Restart implements prover.Process.
func (p *proof) Restart() { _ = p.processes.Restart(prover.Group) } // where none runs, one is on its way
