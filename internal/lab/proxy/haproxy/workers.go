package haproxy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// again is the pause before the next question.
const again = 2 * time.Millisecond

// persist asks again while the master restarts itself, as it does at each reload: for
// moments it then answers nobody.
func (i *instance) persist(ctx context.Context, ask func(context.Context) error) error {
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-i.Exited():
			return i.Ended()
		case <-tick.C:
		}
	}
}

// wholeLog returns an error if workers that live have dropped lines of their log. Of one
// that has ended nobody knows.
func (i *instance) wholeLog(ctx context.Context) error {
	if i.Ended() != nil {
		return nil
	}
	var dropped int
	err := i.persist(ctx, func(ctx context.Context) (err error) {
		dropped, err = i.dropped(ctx)
		return err
	})
	if err == nil && dropped > 0 {
		err = fmt.Errorf("haproxy has dropped %d lines of its log: ask for a lower rate", dropped)
	}
	return err
}

// dropped adds up what the workers count.
func (i *instance) dropped(ctx context.Context) (int, error) {
	sum, err := i.runtime.dropped(ctx, "")
	if err != nil {
		return 0, err
	}
	old, err := i.master.oldWorkers(ctx)
	if err != nil {
		return 0, err
	}
	for _, pid := range old {
		n, err := i.master.dropped(ctx, workerPrefix(pid))
		switch {
		case err == nil:
			sum += n
		case proxy.Alive(pid):
			return 0, err
		}
	}
	return sum, nil
}

// dropped returns how many lines a worker could not send to its log. To the master's
// socket, worker is the prefix that names one.
func (s socket) dropped(ctx context.Context, worker string) (int, error) {
	answer, err := s.ask(ctx, worker+"show info")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(answer, "\nDroppedLogs: ")
	count, _, _ := strings.Cut(rest, "\n")
	dropped, err := strconv.Atoi(count)
	if err != nil {
		return 0, fmt.Errorf("haproxy does not say how many lines of its log it has dropped: %w", err)
	}
	return dropped, nil
}

// workerPrefix begins a command to the master that is for one of its workers.
func workerPrefix(pid int) string { return "@!" + strconv.Itoa(pid) + " " }

// oldWorkers returns the process ids of the workers that the master of this
// socket has replaced.
func (s socket) oldWorkers(ctx context.Context) ([]int, error) {
	answer, err := s.ask(ctx, "show proc")
	if err != nil {
		return nil, err
	}
	_, old, found := strings.Cut(answer, "# old workers")
	if !found {
		return nil, nil
	}
	var pids []int
	for line := range strings.Lines(old) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if fields[0] == "#" {
			break // the next section
		}
		pid, err := strconv.Atoi(fields[0])
		if err != nil {
			return nil, fmt.Errorf("haproxy has an old worker %q: %w", fields[0], err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
