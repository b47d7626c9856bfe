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

{{- define "certificate" -}}
{{ .Values.tls.secretName | default (printf "%s-tls" (include "name" .)) }}
{{- end }}

{{- define "cancelKey" -}}
{{ .Values.cancelPeers.secretName | default (printf "%s-cancel" (include "name" .)) }}
{{- end }}
