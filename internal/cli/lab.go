package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/report"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
)

// Formats of "lab propagation" beside those of every command.
const (
	asHTML = "html"
	asSeed = "seed"
)

func (s *session) labCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "lab COMMAND",
		Short:   "Measure what proxies wrongly believe while a change is on its way to them",
		Example: "  gatehouse lab propagation --proxies model:stream,model:reload -o seed\n  gatehouse lab list",
		Args:    knownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(s.propagationCommand(), s.labListCommand())
	cmd.AddCommand(s.labParts()...)
	return cmd
}

// propagation is what the flags of "lab propagation" say.
type propagation struct {
	script, proxies   string
	from              string
	rate              int
	duration, timeout time.Duration
	check, verbose    bool
}

func (s *session) propagationCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "propagation",
		Short: "Play a script of coming and going backends on models and real proxies",
		Example: "  gatehouse lab propagation --proxies model:stream,model:reload -o seed\n" +
			"  gatehouse lab propagation --script rolling-update --proxies nginx,gatehouse -o html > report.html",
		Long: "Each real proxy runs in namespaces of its own, in front of real backends that start and end as the\n" +
			"script says, under a steady load. It prints what each believed at each step, for how long that was\n" +
			"wrong, and what it cost the requests. 'gatehouse lab list' shows scripts and proxies; --proxies all\n" +
			"is " + strings.ReplaceAll(everyProxy, ",haproxy-runtime,", ",\nhaproxy-runtime,") + ".",
		Args: cobra.NoArgs,
	}
	var p propagation
	flags := cmd.Flags()
	flags.StringVar(&p.script, "script", script.Default, "`FILE` of a script, or the name of a built-in one")
	flags.StringVar(&p.proxies, "proxies", allProxies, "`LIST` of what to play it on, separated by commas, with parameters after colons")
	flags.IntVar(&p.rate, "rate", 50, "`N` requests per second to each real proxy")
	flags.DurationVar(&p.duration, "duration", 0, "`DURATION` of the run; 0 is what the script needs, 60s for the default one")
	flags.DurationVar(&p.timeout, "timeout", 5*time.Second, "`DURATION` after which a client gives up")
	flags.StringVar(&p.from, "from", "", "`FILE` of a run that was saved with -o json: show it again and run nothing")
	flags.BoolVar(&p.check, "check", false, "also exit 1 unless every proxy ran and kept what its model promises")
	flags.BoolVar(&p.verbose, "verbose", false, "show what the programs under test write")
	output := outputFlag(cmd, asTable, asJSON, asHTML, asSeed)
	s.completeLab(cmd)
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		if err := p.alone(cmd.Flags().Changed); err != nil {
			return usage(err)
		}
		result, err := s.labResult(cmd.Context(), p, output.value)
		if err != nil {
			return err
		}
		if err := s.printLab(output.value, result); err != nil {
			return err
		}
		return p.verdict(result)
	})
	return cmd
}

// alone refuses flags of a run beside a run that was saved.
func (p *propagation) alone(given func(flag string) bool) error {
	if p.from == "" {
		return nil
	}
	for _, flag := range []string{"script", "proxies", "rate", "duration", "timeout", "verbose"} {
		if given(flag) {
			return fmt.Errorf("--%s has no effect with --from, which runs nothing; leave one of them out", flag)
		}
	}
	return nil
}

// labResult runs what the flags say, or reads a run that was saved.
func (s *session) labResult(ctx context.Context, p propagation, format string) (lab.Result, error) {
	if p.from != "" {
		result, err := readResult(p.from)
		if err == nil && format == asSeed {
			err = report.Seed(io.Discard, result)
		}
		return result, usage(err)
	}
	options, err := p.options()
	if err == nil {
		err = fits(format, options)
	}
	if err != nil {
		return lab.Result{}, usage(err)
	}
	result, err := s.play(ctx, options)
	result.Machine.Command = "gatehouse " + strings.Join(s.Args, " ")
	return result, err
}

// options reads the script and what the flags name.
func (p *propagation) options() (app.LabOptions, error) {
	o := app.LabOptions{Verbose: p.verbose}
	read, err := readScript(p.script)
	proxies, proxiesErr := labProxies(p.proxies)
	if err := errors.Join(err, proxiesErr); err != nil {
		return o, err
	}
	o.Proxies = proxies
	if o.Timeline, err = read.Timeline(p.duration); err != nil {
		return o, err
	}
	models, real := map[string]lab.Model{}, false
	for _, proxy := range o.Proxies {
		models[proxy.Name] = proxy.Kind()
		real = real || proxy.Real != nil
	}
	if err := read.CheckReloads(models); err != nil || !real {
		return o, err
	}
	o.Load = lab.Load{Rate: p.rate, Timeout: lab.Moment(p.timeout)}
	return o, errors.Join(read.CheckReal(o.Timeline), checkLoad(o))
}

// fits refuses a format that cannot show these proxies, before they run.
func fits(format string, o app.LabOptions) error {
	if format != asSeed {
		return nil
	}
	names := make([]string, len(o.Proxies))
	for i, p := range o.Proxies {
		names[i] = p.Name
	}
	if strings.Join(names, ",") != seedProxies {
		return fmt.Errorf("-o seed shows %s and nothing else: ask for --proxies %s, or for another format", seedProxies, seedProxies)
	}
	return nil
}

// seedProxies are the columns of the seed's table.
const seedProxies = "model:stream,model:reload"

// play runs with a progress bar. Ctrl-C ends everything that was started.
func (s *session) play(ctx context.Context, o app.LabOptions) (lab.Result, error) {
	bar := s.newProgress(o)
	o.Ready = bar.begin
	defer bar.end()
	result, err := app.Lab(ctx, o, s.io())
	if ctx.Err() != nil {
		return result, errors.New("interrupted: nothing was measured, and nothing is left running")
	}
	return result, err
}

func (s *session) printLab(format string, result lab.Result) error {
	switch format {
	case asHTML:
		return report.HTML(s.Out, result)
	case asSeed:
		return report.Seed(s.Out, result)
	case asTable:
		_, err := io.WriteString(s.Out, render.Propagation(s.style, result))
		return err
	}
	return encode(s.Out, format, result)
}

// verdict is the exit code: a proxy that failed in the middle is a failure, a proxy
// that is not installed only when asked to check.
func (p *propagation) verdict(result lab.Result) error {
	if p.check {
		return result.Check()
	}
	var errs []error
	for _, proxy := range result.Proxies {
		if proxy.Failed != "" {
			errs = append(errs, fmt.Errorf("proxy %s failed: %s", proxy.Name, proxy.Failed))
		}
	}
	return errors.Join(errs...)
}
