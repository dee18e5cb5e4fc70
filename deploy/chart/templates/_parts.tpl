{{/* What the objects have in common. The same objects are made by src/isthmus/install. */}}

{{- define "isthmus.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: isthmus
{{- end }}

{{/* Takes a dict of root and name; `of` is the workload that an object is part of. */}}
{{- define "isthmus.inside" -}}
name: {{ .name }}
namespace: {{ .root.Values.namespace | quote }}
labels: {{- include "isthmus.labels" (dict "name" (.of | default .name)) | nindent 2 }}
{{- end }}

{{- define "isthmus.everywhere" -}}
name: {{ .name }}
labels: {{- include "isthmus.labels" . | nindent 2 }}
{{- end }}

{{- define "isthmus.selector" -}}
matchLabels:
  app.kubernetes.io/name: {{ .name }}
{{- end }}

{{- define "isthmus.replicas" -}}
{{- .workload.replicas | default (ternary 2 1 .root.Values.ha) -}}
{{- end }}

{{- define "isthmus.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .tag }}:{{ .tag }}{{ end }}{{ if .digest }}@{{ .digest }}{{ end }}
{{- end -}}
{{- end }}
