package nginx

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// Locations that nginx answers by itself. A request for the mark is logged.
const (
	generationPath = "/lab/generation"
	markPath       = "/lab/mark"
)

// configuration serves a list of backends. nginx refuses an upstream without servers.
var configuration = template.Must(template.New("nginx.conf").Parse(`daemon off;
user root;
worker_processes 2;
pid {{.Dir}}/nginx.pid;
error_log stderr warn;

events {
    worker_connections 4096;
}

http {
    log_format lab "$http_x_lab_request $upstream_addr";
    access_log {{.Dir}}/access.log lab;
    client_body_temp_path {{.Dir}}/body;
    proxy_temp_path {{.Dir}}/proxy;
    fastcgi_temp_path {{.Dir}}/fastcgi;
    uwsgi_temp_path {{.Dir}}/uwsgi;
    scgi_temp_path {{.Dir}}/scgi;
{{if .Backends}}
    upstream backends {
{{- range .Backends}}
        server {{.Address}}:{{$.Port}};
{{- end}}
    }
{{end}}
    server {
        listen {{.Listen}};
        location = ` + generationPath + ` {
            access_log off;
            return 200 "{{.Generation}}";
        }
        location = ` + markPath + ` {
            return 204;
        }
        location / {
{{- if .Backends}}
            proxy_pass http://backends;
{{- if .RetriesOff}}
            proxy_next_upstream off;
{{- end}}
{{- else}}
            return 503;
{{- end}}
        }
    }
}
`))

// write replaces the configuration file as a whole.
func (n *nginx) write(generation int, backends []proxy.Backend) error {
	var text bytes.Buffer
	err := configuration.Execute(&text, struct {
		Dir        string
		Listen     string
		Port       int
		Generation int
		RetriesOff bool
		Backends   []proxy.Backend
	}{n.options.Dir, proxy.ListenAddress, proxy.BackendPort, generation, n.options.RetriesOff, backends})
	if err != nil {
		return fmt.Errorf("make nginx's configuration: %w", err)
	}
	next := n.file() + ".new"
	if err := os.WriteFile(next, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write nginx's configuration: %w", err)
	}
	return os.Rename(next, n.file())
}

func (n *nginx) file() string { return filepath.Join(n.options.Dir, "nginx.conf") }
