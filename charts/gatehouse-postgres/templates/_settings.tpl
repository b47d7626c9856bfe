{{- /* What the values mean to the router. */ -}}
{{- define "settings" -}}
RUNTIME: kubernetes
DISCOVERY_MODE: kubernetes
CLUSTER_DOMAIN: {{ .Values.discovery.clusterDomain | quote }}
{{- with .Values.discovery.namespaces }}
DISCOVERY_NAMESPACES: {{ join "," . | quote }}
{{- end }}
TLS_ENABLED: {{ .Values.tls.enabled | quote }}
{{- if .Values.tls.enabled }}
TLS_REQUIRED: {{ .Values.tls.required | quote }}
TLS_MODE: secret
TLS_SECRET_NAME: {{ include "certificate" . | quote }}
TLS_AUTO_GENERATE: {{ empty .Values.tls.secretName | quote }}
TLS_AUTO_RENEW: {{ empty .Values.tls.secretName | quote }}
{{- end }}
{{- if .Values.cancelPeers.enabled }}
CANCEL_PEERS: "{{ include "name" . }}-peers.{{ .Release.Namespace }}.svc.{{ .Values.discovery.clusterDomain }}:7432"
CANCEL_PEER_KEY_FILE: /etc/gatehouse/cancel/key
{{- end }}
{{- end }}
