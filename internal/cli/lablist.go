package cli

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/model"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
)

// labList is what a run can be made of, on this machine.
type labList struct {
	Proxies []listedProxy  `json:"proxies"`
	Scripts []listedScript `json:"scripts"`
}

type listedProxy struct {
	Name string `json:"name"`
	// Parameters may follow the name, each after a colon.
	Parameters []string  `json:"parameters"`
	Model      lab.Model `json:"model"`
	How        string    `json:"how"`
	Retries    string    `json:"retries,omitempty"`
	Program    string    `json:"program,omitempty"` // with its version; empty for models
	Path       string    `json:"path,omitempty"`
	// Missing says why it cannot run here, and the remedy.
	Missing string `json:"missing,omitempty"`
}

type listedScript struct {
	Name string `json:"name"`
	Does string `json:"does"`
}

func (s *session) labListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Show proxies and scripts, what is installed, and how to get the rest",
		Example: "  gatehouse lab list\n  gatehouse lab list -o json",
		Args:    cobra.NoArgs,
	}
	output := outputFlag(cmd, asTable, asJSON, asYAML)
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		list := listLab(cmd.Context())
		if output.value != asTable {
			return encode(s.Out, output.value, list)
		}
		_, err := io.WriteString(s.Out, list.text(s.style))
		return err
	})
	return cmd
}

// listLab asks every program for its version, side by side.
func listLab(ctx context.Context) labList {
	list := labList{}
	for _, m := range model.Models() {
		name := "model:" + string(m)
		plain, _ := model.Parse(name) // every model has a plain form
		list.Proxies = append(list.Proxies, listedProxy{Name: name, Parameters: model.Parameters(m), Model: m, How: plain.How(lab.Policy{})})
	}
	models, supported := len(list.Proxies), app.LabSupported(ctx)
	var wg sync.WaitGroup
	descriptions := app.LabProxies()
	list.Proxies = append(list.Proxies, make([]listedProxy, len(descriptions))...)
	for i, d := range descriptions {
		wg.Go(func() {
			p := listedProxy{Name: d.Name, Parameters: []string{"retries=off"}, Model: d.Model, How: d.How, Retries: d.Retries}
			path, version, err := app.LabInstalled(ctx, d)
			switch {
			case err != nil:
				p.Missing = err.Error()
			case supported != nil:
				p.Missing = supported.Error()
			}
			if err == nil {
				p.Program, p.Path = d.Program+" "+version, path
			}
			list.Proxies[models+i] = p
		})
	}
	wg.Wait()
	for _, built := range script.Names() {
		list.Scripts = append(list.Scripts, listedScript{built.Name, built.Does})
	}
	return list
}

func (l labList) text(s render.Style) string {
	proxies := render.Table{Header: []string{"PROXY", "MODEL", "PROGRAM", "IS TOLD BY"}}
	for _, p := range l.Proxies {
		program := render.T(p.Program)
		switch {
		case p.Missing != "":
			program = render.Cell{Text: "missing", Color: render.Red}
		case p.Program == "":
			program = render.T("-")
		}
		proxies.Rows = append(proxies.Rows, []render.Cell{render.T(p.Name), render.T(string(p.Model)), program, render.T(p.How + "; takes " + strings.Join(p.Parameters, ", "))})
		var below []string
		if p.Missing != "" {
			below = []string{p.Missing}
		}
		proxies.Below = append(proxies.Below, below)
	}
	scripts := render.Table{Header: []string{"SCRIPT", "WHAT HAPPENS"}}
	for _, built := range l.Scripts {
		scripts.Rows = append(scripts.Rows, []render.Cell{render.T(built.Name), render.T(built.Does)})
	}
	return proxies.Render(s) + "\n" + scripts.Render(s)
}
