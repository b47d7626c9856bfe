{{- define "name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "labels" -}}
{{ include "selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- /* What the values mean to the fleet. */ -}}
{{- define "settings" -}}
GATEHOUSE_FLEET_PROVIDERS: {{ join "," .Values.providers | quote }}
GATEHOUSE_FLEET_METRICS_ADDRESS: ":19031"
{{- if .Values.leases.tokenSecret }}
GATEHOUSE_FLEET_LEASE_ADDRESS: ":8090"
{{- end }}
{{- with .Values.watchNamespaces }}
GATEHOUSE_FLEET_WATCH_NAMESPACES: {{ join "," . | quote }}
{{- end }}
{{- end }}
