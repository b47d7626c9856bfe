package envoy

import (
	"strings"

	envoy_accesslog_v3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_filelog_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	envoy_streamlog_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// httpLogFields are the fields of a line of JSON for each request.
var httpLogFields = map[string]string{
	"time":           "%START_TIME%",
	"method":         "%REQ(:METHOD)%",
	"host":           "%REQ(:AUTHORITY)%",
	"path":           "%REQ(:PATH)%",
	"protocol":       "%PROTOCOL%",
	"status":         "%RESPONSE_CODE%",
	"details":        "%RESPONSE_CODE_DETAILS%",
	"flags":          "%RESPONSE_FLAGS%",
	"attempts":       "%UPSTREAM_REQUEST_ATTEMPT_COUNT%", // more than 1: it was tried again
	"bytes_received": "%BYTES_RECEIVED%",
	"bytes_sent":     "%BYTES_SENT%",
	"duration_ms":    "%DURATION%",
	"client":         "%DOWNSTREAM_REMOTE_ADDRESS%",
	"route":          "%ROUTE_NAME%",
	"cluster":        "%UPSTREAM_CLUSTER_RAW%",
	"upstream":       "%UPSTREAM_HOST%",
	"request_id":     "%REQ(X-REQUEST-ID)%",
	"user_agent":     "%REQ(USER-AGENT)%",
}

// streamLogFields are the fields of a line of JSON for each TCP connection.
var streamLogFields = map[string]string{
	"time":           "%START_TIME%",
	"flags":          "%RESPONSE_FLAGS%",
	"bytes_received": "%BYTES_RECEIVED%",
	"bytes_sent":     "%BYTES_SENT%",
	"duration_ms":    "%DURATION%",
	"client":         "%DOWNSTREAM_REMOTE_ADDRESS%",
	"cluster":        "%UPSTREAM_CLUSTER_RAW%",
	"upstream":       "%UPSTREAM_HOST%",
}

// accessLogs is the Gateway's access log, if it has one.
func accessLogs(s model.Settings, fields map[string]string) ([]*envoy_accesslog_v3.AccessLog, error) {
	if s.AccessLog == "" {
		return nil, nil
	}
	if err := checkLog(s.AccessLog); err != nil {
		return nil, err
	}
	name, sink := "envoy.access_loggers.file", message(&envoy_filelog_v3.FileAccessLog{
		Path:            s.AccessLog,
		AccessLogFormat: &envoy_filelog_v3.FileAccessLog_LogFormat{LogFormat: logFormat(fields)},
	})
	if s.AccessLog == "-" {
		name, sink = "envoy.access_loggers.stdout", &envoy_streamlog_v3.StdoutAccessLog{
			AccessLogFormat: &envoy_streamlog_v3.StdoutAccessLog_LogFormat{LogFormat: logFormat(fields)},
		}
	}
	config, err := pack(sink)
	if err != nil {
		return nil, err
	}
	return []*envoy_accesslog_v3.AccessLog{{
		Name: name, ConfigType: &envoy_accesslog_v3.AccessLog_TypedConfig{TypedConfig: config},
	}}, nil
}

func checkLog(path string) error {
	if path != "-" && !strings.HasPrefix(path, "/") {
		return faultf("settings.accessLog", path, "not a log: use - for the proxy's standard output, or an absolute path")
	}
	return checkName("settings.accessLog", path)
}

func logFormat(fields map[string]string) *envoy_core_v3.SubstitutionFormatString {
	line := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, command := range fields {
		line.Fields[name] = structpb.NewStringValue(command)
	}
	return &envoy_core_v3.SubstitutionFormatString{
		Format: &envoy_core_v3.SubstitutionFormatString_JsonFormat{JsonFormat: line},
	}
}
