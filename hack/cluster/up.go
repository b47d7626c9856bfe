package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

const (
	upTime   = 4 * time.Minute
	downTime = 30 * time.Second
	askTime  = 5 * time.Second
	tick     = 50 * time.Millisecond
)

// up starts the cluster unless it runs, and returns when it can be used.
func (p place) up(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upTime)
	defer cancel()
	owner, err := p.owner()
	if err != nil {
		return err
	}
	state, ended := "up already", make(chan struct{})
	if owner == 0 {
		state = "up"
		p.say("starting etcd, kube-apiserver and kube-controller-manager %s", cluster.Version)
		ended, err = p.start()
	} else {
		close(ended)
	}
	if err != nil {
		return err
	}
	if err := p.await(ctx, ended); err != nil {
		return err
	}
	p.say("the cluster is %s; \"make cluster-down\" ends it; to use it:\n  export KUBECONFIG=%s", state, p.kubeconfig())
	return nil
}

// start starts the process in the background, in a session of its own. The channel is
// closed when it has ended.
func (p place) start() (chan struct{}, error) {
	log, err := os.OpenFile(p.log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("/proc/self/exe", keep) //nolint:noctx // it outlives this process
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	return ended, nil
}

// await returns when the API server answers. One that another process started at the same
// time is as good.
func (p place) await(ctx context.Context, ended <-chan struct{}) error {
	for {
		notReady := p.ready(ctx)
		if notReady == nil {
			return nil
		}
		select {
		case <-ended:
			owner, err := p.owner()
			if err != nil {
				return err
			}
			if owner == 0 {
				said, err := os.ReadFile(p.log())
				return errors.Join(fmt.Errorf("it has ended and said:\n%s", said), err)
			}
		default:
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("wait for the API server: %w: %w; see %s", err, notReady, p.log())
		}
	}
}

// ready asks the API server of the kubeconfig.
func (p place) ready(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig())
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// down ends the cluster if it runs, and returns when it is gone.
func (p place) down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, downTime)
	defer cancel()
	for was := 0; ; {
		owner, err := p.owner()
		switch {
		case err != nil:
			return err
		case owner == 0 && was == 0:
			p.say("no cluster is up")
			return nil
		case owner == 0:
			p.say("the cluster is down")
			return nil
		case owner != was:
			if err := syscall.Kill(owner, syscall.SIGTERM); err != nil {
				return fmt.Errorf("end process %d: %w", owner, err)
			}
			was = owner
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("process %d does not end: %w", owner, err)
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(tick):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
