{{/* The name of a part: agent or gateway. */}}
{{- define "sluice.name" -}}
{{- printf "%s-%s" .root.Release.Name .part | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* What its pods are selected by; never changes. */}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice-{{ .part }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/part-of: sluice
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "sluice.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The headless service of the gateways. */}}
{{- define "sluice.gateways" -}}
{{- printf "%ss" (include "sluice.name" (dict "root" . "part" "gateway")) -}}
{{- end -}}

{{/* Ends with what is wrong when a pod would be killed before it has drained. Durations other than seconds and minutes are not looked at. */}}
{{- define "sluice.checkDrain" -}}
{{- $values := .values -}}
{{- $timeout := dig "service" "shutdown_timeout" "0s" $values.config | toString -}}
{{- if regexMatch "^[0-9]+(s|m)$" $timeout -}}
{{- $seconds := mul (regexFind "^[0-9]+" $timeout | int) (ternary 60 1 (hasSuffix "m" $timeout)) -}}
{{- if le (int $values.terminationGracePeriodSeconds) (add (int $values.preStopSeconds) $seconds | int) -}}
{{- fail (printf "%s.terminationGracePeriodSeconds (%v) has to be longer than %s.preStopSeconds (%v) and %s.config.service.shutdown_timeout (%s) together" .part $values.terminationGracePeriodSeconds .part $values.preStopSeconds .part $timeout) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "sluice.configMap" -}}
{{- include "sluice.checkDrain" . -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "sluice.name" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "sluice.labels" . | nindent 4 }}
data:
  sluice.yaml: |
    {{- toYaml .values.config | nindent 4 }}
{{- end -}}

{{/* The container of both parts, but for what is theirs alone. */}}
{{- define "sluice.container" -}}
- name: sluice
  image: {{ include "sluice.image" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: [run, --config, /etc/sluice/sluice.yaml]
  {{- if or .ownEnv .values.env }}
  env:
    {{- with .ownEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .values.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with .values.envFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    {{- with .values.ports }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    - { name: metrics, containerPort: 8888, protocol: TCP }
    - { name: health, containerPort: 13133, protocol: TCP }
  resources:
    {{- toYaml .values.resources | nindent 4 }}
  securityContext:
    {{- toYaml .securityContext | nindent 4 }}
  startupProbe:
    httpGet: { path: /, port: health }
    periodSeconds: 2
    failureThreshold: {{ .values.startupFailureThreshold }}
  readinessProbe:
    httpGet: { path: /, port: health }
    periodSeconds: 5
  livenessProbe:
    httpGet: { path: /, port: health }
    periodSeconds: 20
    timeoutSeconds: 5
    failureThreshold: 6
  lifecycle:
    preStop:
      exec: { command: [sleep, {{ .values.preStopSeconds | quote }}] }
  volumeMounts:
    - { name: config, mountPath: /etc/sluice, readOnly: true }
    {{- if .hasQueue }}
    - { name: queue, mountPath: /var/lib/sluice }
    {{- end }}
    {{- with .values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* Where pods go; the same keys for both parts. */}}
{{- define "sluice.scheduling" -}}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
