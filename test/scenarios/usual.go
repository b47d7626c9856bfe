package scenarios

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// usual are fields of Envoy resources with the value that they have almost
// everywhere. A scenario names those of its fields that are as usual in one line;
// scenarios with "output: whole" show them.
var usual = parseUsual(`
# clusters
circuit_breakers:
  thresholds:
  - {max_connections: 4294967295, max_pending_requests: 4294967295, max_requests: 4294967295, max_retries: 4294967295}
connect_timeout: 5s
lb_policy: LEAST_REQUEST
per_connection_buffer_limit_bytes: 32768
typed_extension_protocol_options:
  envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
    '@type': type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
    explicit_http_config: {http_protocol_options: {}}
# listeners
enable_reuse_port: false
common_http_protocol_options: {idle_timeout: 3600s}
http2_protocol_options:
  max_concurrent_streams: 100
  initial_stream_window_size: 65536
  initial_connection_window_size: 1048576
http_filters:
- {name: gatehouse.admit.1, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite}}
- {name: envoy.filters.http.cors, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}}
- {name: gatehouse.auth.1, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite}}
- {name: gatehouse.auth.2, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite}}
- {name: gatehouse.auth.3, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite}}
- {name: gatehouse.auth.4, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite}}
- name: gatehouse.lifetime
  typed_config:
    '@type': type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
    source_codes: {until client ends: {inline_string: SCRIPT lifetime.lua}}
- {name: envoy.filters.http.stateful_session, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession}}
- name: envoy.filters.http.router
  typed_config:
    '@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
    suppress_envoy_headers: true
merge_slashes: true
normalize_path: true
path_with_escaped_slashes_action: UNESCAPE_AND_REDIRECT
request_headers_timeout: 10s
server_header_transformation: PASS_THROUGH
stream_idle_timeout: 300s
strip_trailing_host_dot: true
upgrade_configs: [{upgrade_type: websocket}]
use_remote_address: true
# route tables
ignore_port_in_host_matching: true
validate_clusters: false
cluster_not_found_response_code: INTERNAL_SERVER_ERROR
retry_policy:
  retry_on: connect-failure,refused-stream
  num_retries: 2
  retry_host_predicate:
  - name: envoy.retry_host_predicates.previous_hosts
    typed_config:
      '@type': type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate
  host_selection_retry_max_attempts: "10"
`)

// usualField is where a mapping names its fields that are as usual.
const usualField = "as_usual"

// scripts is where the scripts are that a text of usual fields names.
const scripts = "../../internal/translate/envoy/"

var script = regexp.MustCompile(`SCRIPT [a-z]+\.lua`)

func parseUsual(text string) map[string]string {
	text = script.ReplaceAllStringFunc(text, func(name string) string {
		source, err := os.ReadFile(scripts + strings.TrimPrefix(name, "SCRIPT "))
		if err != nil {
			panic(err)
		}
		return strconv.Quote(string(source))
	})
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		panic(err)
	}
	out := map[string]string{}
	all := document.Content[0].Content
	for i := 0; i < len(all); i += 2 {
		out[all[i].Value] = canonical(all[i+1])
	}
	return out
}

// canonical is the same text for trees that say the same, in any style and order of fields.
func canonical(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return fmt.Sprintf("%q", n.Value)
	}
	var parts []string
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			parts = append(parts, canonical(n.Content[i])+":"+canonical(n.Content[i+1]))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	for _, child := range n.Content {
		parts = append(parts, canonical(child))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// foldUsual replaces the fields that are as usual by their names.
func foldUsual(n *yaml.Node) {
	for _, child := range n.Content {
		foldUsual(child)
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	var names []string
	kept := make([]*yaml.Node, 0, len(n.Content))
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if usual[key.Value] == canonical(value) {
			names = append(names, key.Value)
			continue
		}
		kept = append(kept, key, value)
	}
	if len(names) > 0 {
		kept = append(kept, scalar(usualField), scalar(strings.Join(names, " ")))
	}
	n.Content = kept
}

func scalar(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}
