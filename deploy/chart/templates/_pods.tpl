{{/* The pods. Each takes a dict of root, name, role and workload. */}}

{{- define "isthmus.who" -}}
- --cluster-name
- {{ required "clusterName is missing: what other clusters call this one" .Values.clusterName | quote }}
- --mesh-domain
- {{ .Values.meshDomain | quote }}
- --namespace
- {{ .Values.namespace | quote }}
- --name
- $(POD_NAME)
{{- end }}

{{- define "isthmus.logs" -}}
- --log-level
- {{ .Values.logLevel }}
- --log-format
- {{ .Values.logFormat }}
{{- end }}

{{- define "isthmus.controller.args" -}}
- controller
{{ include "isthmus.who" . }}
- --cluster-domain
- {{ .Values.clusterDomain | quote }}
- --workers
- {{ .Values.controller.workers | toString | quote }}
{{- range .Values.localCidrs }}
- --local-cidr
- {{ . | quote }}
{{- end }}
{{- if .Values.allowLoopback }}
- --allow-loopback
{{- end }}
{{ include "isthmus.logs" . }}
{{- end }}

{{- define "isthmus.proxy.args" -}}
{{- $host := printf "isthmus-controller.%s.svc.%s" .root.Values.namespace .root.Values.clusterDomain -}}
- proxy
- --role
- {{ .role }}
{{ include "isthmus.who" .root }}
- --controller
- {{ $host }}:8443
- --ads
- {{ $host }}:8444
- --token-file
- /var/run/secrets/isthmus.dev/token
- --trust-file
- /etc/isthmus/trust/anchors.pem
- --directory
- /run/isthmus
- --concurrency
- {{ .workload.concurrency | toString | quote }}
- --drain
- {{ .workload.drain | toString | quote }}
- --linger
- {{ .workload.linger | toString | quote }}
{{ include "isthmus.logs" .root }}
{{- end }}

{{- define "isthmus.container" -}}
name: {{ .role }}
image: {{ include "isthmus.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env:
  - name: POD_NAME
    valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}
resources:
  {{- range $kind := list "requests" "limits" }}
  {{- with get $.workload.resources $kind }}
  {{ $kind }}:
    {{- range $key, $value := . }}
    {{ $key }}: {{ $value | toString | quote }}
    {{- end }}
  {{- end }}
  {{- end }}
  {{- if not (or .workload.resources.requests .workload.resources.limits) }} {}{{ end }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
{{- end }}

{{- define "isthmus.spread" -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector: {{- include "isthmus.selector" $ | nindent 4 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}

{{- define "isthmus.pod" -}}
serviceAccountName: {{ .name }}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  seccompProfile: {type: RuntimeDefault}
  {{- with .root.Values.runAsUser }}
  runAsUser: {{ . | int }}
  runAsGroup: {{ . | int }}
  fsGroup: {{ . | int }}
  {{- end }}
topologySpreadConstraints: {{- include "isthmus.spread" . | nindent 2 }}
{{- with .workload.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .workload.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .workload.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "isthmus.controller.pod" -}}
{{ include "isthmus.pod" . }}
automountServiceAccountToken: true
terminationGracePeriodSeconds: 20
containers:
  - {{- include "isthmus.container" . | nindent 4 }}
    args: {{- include "isthmus.controller.args" .root | nindent 6 }}
    ports:
      - {name: https, containerPort: 8443, protocol: TCP}
      - {name: grpc, containerPort: 8444, protocol: TCP}
      - {name: admin, containerPort: 9990, protocol: TCP}
    livenessProbe:
      httpGet: {path: /livez, port: admin}
      periodSeconds: 5
      timeoutSeconds: 3
      failureThreshold: 6
    readinessProbe:
      httpGet: {path: /readyz, port: admin}
      periodSeconds: 5
      timeoutSeconds: 3
      failureThreshold: 2
{{- end }}

{{- define "isthmus.proxy.pod" -}}
{{ include "isthmus.pod" . }}
automountServiceAccountToken: false
terminationGracePeriodSeconds: {{ add .workload.drain 15 }}
containers:
  - {{- include "isthmus.container" . | nindent 4 }}
    args: {{- include "isthmus.proxy.args" . | nindent 6 }}
    ports:
      {{- if eq .role "gateway" }}
      - {name: tls, containerPort: 4143, protocol: TCP}
      {{- end }}
      - {name: metrics, containerPort: 9991, protocol: TCP}
    readinessProbe:
      httpGet: {path: /ready, port: metrics}
      periodSeconds: 5
      timeoutSeconds: 3
      failureThreshold: 2
    volumeMounts:
      - {name: state, mountPath: /run/isthmus}
      - {name: token, mountPath: /var/run/secrets/isthmus.dev, readOnly: true}
      - {name: trust, mountPath: /etc/isthmus/trust, readOnly: true}
volumes:
  - name: state
    emptyDir: {medium: Memory, sizeLimit: 64Mi}
  - name: token
    projected:
      sources:
        - serviceAccountToken:
            audience: isthmus.dev/{{ .root.Values.clusterName }}
            expirationSeconds: 3600
            path: token
  - name: trust
    configMap: {name: isthmus-trust}
{{- end }}
