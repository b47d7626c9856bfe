package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/fleetapi"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// minTopInterval is between two questions at least.
const minTopInterval = 100 * time.Millisecond

func (s *session) fleetTopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "top",
		Short:   "Watch the Proxies of a running fleet: probes, leases, and what they cool down for",
		Example: "  gatehouse fleet top\n  gatehouse fleet top --sort latency --interval 5s\n  gatehouse fleet top --once -o json",
		Long: "It goes on until Ctrl-C, also while the fleet cannot be reached. Elsewhere than on a terminal it prints\n" +
			"all of it at each interval; as JSON it prints one line then.",
		Args: cobra.NoArgs,
	}
	load := s.fleetFlags(cmd, onlyAdmin)
	cmd.Flags().Lookup("admin-address").Usage = "where the running fleet's admin API listens"
	interval := cmd.Flags().Duration("interval", 2*time.Second, "`DURATION` between two looks, from 100ms")
	once := cmd.Flags().Bool("once", false, "look once, and exit 1 if the fleet cannot be reached")
	order := &format{value: "leases", choices: []string{"leases", "latency", "name", "cooldowns"}}
	cmd.Flags().Var(order, "sort", "what comes first: most leases, highest latency, first name, or most cooldowns")
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(order.choices, cobra.ShellCompDirectiveNoFileComp))
	output := outputFlag(cmd, asTable, asJSON)
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		loaded, err := load()
		if err != nil {
			return usage(err)
		}
		if *interval < minTopInterval {
			return usage(fmt.Errorf("--interval: %s is too short; give at least %s", *interval, minTopInterval))
		}
		t := &top{
			session: s, client: admin.Client{Address: loaded.Fleet.AdminAddress, Timeout: max(*interval, 5*time.Second)},
			order: order.value, json: output.value == asJSON,
		}
		if *once {
			return t.once(cmd.Context())
		}
		return t.run(cmd.Context(), *interval)
	})
	return cmd
}

// top is a live view of a fleet.
type top struct {
	*session
	client admin.Client
	order  string
	json   bool
	frame  render.Frame
	last   explain.Requests // those of the frame, if it has any
}

func (t *top) once(ctx context.Context) error {
	if err := t.look(ctx); err != nil {
		return err
	}
	return t.show()
}

// run looks and shows until ctx ends, which is no failure.
func (t *top) run(ctx context.Context, interval time.Duration) error {
	resized := make(chan os.Signal, 1)
	if file, is := terminal(t.Out); is && !t.json {
		defer t.takeScreen(file)()
		if len(resizeSignals) > 0 { // none would be all
			signal.Notify(resized, resizeSignals...)
			defer signal.Stop(resized)
		}
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		// 1. What there is, or why nothing can be learnt; what was learnt before stays.
		if err := t.look(ctx); err != nil && ctx.Err() == nil {
			t.frame.Lost = explain.FirstLine(err)
		}
		// 2. Nothing half-learnt is shown at the end.
		if ctx.Err() != nil {
			return nil
		}
		if err := t.show(); err != nil {
			return err
		}
		// 3. Until the next look, only the size of the terminal changes what is shown.
		if err := t.wait(ctx, tick.C, resized); err != nil {
			return err
		}
	}
}

func (t *top) wait(ctx context.Context, tick <-chan time.Time, resized <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			return nil
		case <-resized:
			if err := t.show(); err != nil {
				return err
			}
		}
	}
}

// look asks the fleet once.
func (t *top) look(ctx context.Context) error {
	list, err := fleetapi.List(ctx, t.client)
	if err != nil {
		return err
	}
	sortRows(list.Items, t.order)
	now := time.Now()
	f := render.Frame{At: now, List: list}
	if r := list.Leasing.Requests; r != nil {
		if passed := now.Sub(t.frame.At).Seconds(); !t.frame.At.IsZero() && passed > 0 && r.Granted >= t.last.Granted && r.Refused >= t.last.Refused {
			f.Granted, f.Refused = new(float64(r.Granted-t.last.Granted)/passed), new(float64(r.Refused-t.last.Refused)/passed)
		}
		t.last = *r
	}
	t.frame = f
	return nil
}

// ordered by name at last, so that rows stay where they are.
func sortRows(rows []explain.Row, order string) {
	leases := func(r explain.Row) (active, cooling int) {
		if r.Leases == nil {
			return -1, -1
		}
		return r.Leases.Active, r.Leases.Cooling
	}
	slices.SortFunc(rows, func(a, b explain.Row) int {
		first := 0
		aActive, aCooling := leases(a)
		bActive, bCooling := leases(b)
		switch order {
		case "leases":
			first = cmp.Compare(bActive, aActive)
		case "latency":
			first = cmp.Compare(b.LatencyMillis, a.LatencyMillis)
		case "cooldowns":
			first = cmp.Compare(bCooling, aCooling)
		}
		return cmp.Or(first, cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// topLine is what a program reads at each look.
type topLine struct {
	At time.Time `json:"at"`
	// Error says why there is no list.
	Error string `json:"error,omitempty"`
	*explain.List
}

// show writes the frame.
func (t *top) show() error {
	if t.json {
		line := topLine{At: t.frame.At.UTC(), List: &t.frame.List}
		if t.frame.Lost != "" {
			line = topLine{At: time.Now().UTC(), Error: t.frame.Lost}
		}
		return json.NewEncoder(t.Out).Encode(line)
	}
	style := t.styleOf(t.Out)
	file, is := terminal(t.Out)
	if !is {
		_, err := io.WriteString(t.Out, render.FleetTop(style, t.frame, time.Now())+"\n")
		return err
	}
	f := t.frame
	if _, lines, err := term.GetSize(int(file.Fd())); err == nil {
		f.Lines = lines
	}
	return t.draw(render.FleetTop(style, f, time.Now()))
}

// Control sequences of ECMA-48 and xterm.
const (
	otherScreen = "\x1b[?1049h\x1b[?25l" // without a cursor
	ownScreen   = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearRest   = "\x1b[K" // of the line
	clearBelow  = "\x1b[J"
)

// takeScreen shows another screen than the one with the user's commands, and returns
// what gives that back.
func (t *top) takeScreen(file *os.File) (giveBack func()) {
	_, _ = file.WriteString(otherScreen)
	return func() { _, _ = file.WriteString(ownScreen) }
}

// draw replaces what the screen shows, without a moment of emptiness between.
func (t *top) draw(text string) error {
	text = strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", clearRest+"\n")
	_, err := io.WriteString(t.Out, home+text+clearRest+clearBelow)
	return err
}
