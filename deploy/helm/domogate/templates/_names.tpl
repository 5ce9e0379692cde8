{{/* The name of all objects of a release. */}}
{{- define "domogate.name" -}}
{{- if contains "domogate" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-domogate" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end -}}
{{- end -}}

{{/* The labels by which objects find the pods. They never change. */}}
{{- define "domogate.selector" -}}
app.kubernetes.io/name: domogate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of all objects. */}}
{{- define "domogate.labels" -}}
{{ include "domogate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
