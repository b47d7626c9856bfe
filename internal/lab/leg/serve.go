package leg

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/experiment"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// Check makes a world to live in and leaves it again. Like [Serve] it must be the first
// in its namespaces.
func Check() error {
	_, err := arena.Enter()
	return err
}

// Serve is the life of a leg: it reads an order from in, runs it, and says the result
// on out. It must be the first process of the namespaces of [arena.Command]. What fails
// in the experiment is part of the result; an error says that there is none.
func Serve(ctx context.Context, in io.Reader, out io.Writer, errOut io.Writer, known []proxy.Description) error {
	input := bufio.NewReader(in)
	var order Order
	if err := readLine(input, &order); err != nil {
		return fmt.Errorf("read the order of a leg: %w; it is started by \"gatehouse lab propagation\"", err)
	}
	began := make(chan error, 1)
	begin := func() error {
		if err := json.NewEncoder(out).Encode(said{Ready: true}); err != nil {
			return err
		}
		return <-began
	}
	go func() { // ends with the process
		line, err := input.ReadString('\n')
		if err == nil && strings.TrimSpace(line) != goAhead {
			err = fmt.Errorf("unknown word %q", line)
		}
		began <- err
		arena.Live(input)
	}()
	log := io.Discard
	if order.Verbose {
		log = errOut
	}
	result := order.run(ctx, known, log, begin)
	return json.NewEncoder(out).Encode(said{Result: &result})
}

func readLine(r *bufio.Reader, into any) error {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}

// run makes the world, starts the proxy in it, plays, and stops both.
func (o Order) run(ctx context.Context, known []proxy.Description, log io.Writer, begin func() error) lab.Proxy {
	result, err := o.play(ctx, known, log, begin)
	result.Name, result.Model = o.Plan.Name, o.Plan.Model
	if err != nil && result.Failed == "" {
		result.Failed = err.Error()
	}
	return result
}

func (o Order) play(ctx context.Context, known []proxy.Description, log io.Writer, begin func() error) (result lab.Proxy, err error) {
	dir, err := arena.Enter()
	if err != nil {
		return result, err
	}
	p, err := o.proxy(known, dir, log)
	if err != nil {
		return result, err
	}
	x := experiment.Experiment{Plan: o.Plan, Proxy: p, Clock: new(experiment.Clock)}
	world, died, err := o.world(ctx, x.Clock)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	x.World, x.Failed = world, died
	defer func() { err = errors.Join(err, stop(ctx, p)) }()
	if err := start(ctx, p); err != nil {
		return result, err
	}
	return x.Run(ctx, begin)
}

// proxy makes the proxy of the order.
func (o Order) proxy(known []proxy.Description, dir string, log io.Writer) (proxy.Proxy, error) {
	for _, d := range known {
		if d.Name == o.Kind {
			own, err := os.MkdirTemp(dir, "proxy-")
			return d.New(proxy.Options{
				Dir: own, Program: o.Program, Gatehouse: o.Gatehouse, RetriesOff: o.RetriesOff, Log: log,
			}), err
		}
	}
	return nil, fmt.Errorf("no proxy is called %q", o.Kind)
}

// world makes the arena, with a process in waiting for every backend of the plan. The
// channel hears of the first backend that ends by itself.
func (o Order) world(ctx context.Context, clock *experiment.Clock) (*arena.Arena, <-chan error, error) {
	died := make(chan error, 1)
	world, err := arena.New(arena.Options{
		Backend: []string{o.Gatehouse, "lab", "backend"}, Now: clock.Now,
		Died: func(err error) {
			select {
			case died <- err:
			default:
			}
		},
	})
	if err != nil {
		return nil, nil, err
	}
	if err := world.Prepare(ctx, o.Plan.Starts()); err != nil {
		return nil, nil, errors.Join(err, world.Close())
	}
	return world, died, nil
}

func start(ctx context.Context, p proxy.Proxy) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return p.Start(ctx)
}

func stop(ctx context.Context, p proxy.Proxy) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return p.Stop(ctx)
}
