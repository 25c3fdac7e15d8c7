{{/*
What the pods of all components have in common. Each takes (dict "root" $ "component" C "values" V), V the component's values.
*/}}

{{- define "fogfall.serviceAccountName" -}}
{{- if .values.serviceAccount.create }}
{{- default (printf "%s-%s" (include "fogfall.fullname" .root) .component) .values.serviceAccount.name }}
{{- else }}
{{- default "default" .values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/*
Metadata of a pod template. An upgrade that changes nothing of a pod must not start it anew: no version is in here. "checksums" are
of what it reads when it starts; "metrics" is the port of its metrics.
*/}}
{{- define "fogfall.pod.metadata" -}}
labels:
  {{- include "fogfall.selectorLabels" . | nindent 2 }}
  app.kubernetes.io/part-of: fogfall
  {{- with merge (dict) .values.podLabels .root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $scrape := dict }}
{{- if and .metrics .root.Values.monitoring.scrapeAnnotations (not (include "fogfall.podMonitor" .root)) }}
{{- $scrape = dict "prometheus.io/scrape" "true" "prometheus.io/port" (toString .metrics) "prometheus.io/path" "/metrics" }}
{{- end }}
{{- with merge (dict) .values.podAnnotations (default (dict) .checksums) $scrape .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
Checksum of what a config map or secret of the chart holds, of (dict "root" $ "path" P): of its data alone, since its labels change
with every version.
*/}}
{{- define "fogfall.checksum" -}}
{{- $object := include (print .root.Template.BasePath .path) .root | fromYaml }}
{{- toJson $object.data | sha256sum }}
{{- end }}

{{/*
All of a pod's spec but its containers and volumes. "tolerations", "affinity" and "spread" are the chart's own.
*/}}
{{- define "fogfall.pod.spec" -}}
serviceAccountName: {{ include "fogfall.serviceAccountName" . | quote }}
automountServiceAccountToken: false
# Kubernetes would add variables that the programs take for settings.
enableServiceLinks: false
{{- with .root.Values.global.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with .root.Values.security.userId }}
  runAsUser: {{ int . }}
  runAsGroup: {{ int . }}
  fsGroup: {{ int . }}
  {{- end }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .values.terminationGracePeriodSeconds }}
terminationGracePeriodSeconds: {{ . }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .values.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- with .values.schedulerName }}
schedulerName: {{ . | quote }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat (default (list) .tolerations) .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default .affinity .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else if .spread }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: {{ .spread }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "fogfall.selectorLabels" . | nindent 8 }}
{{- end }}
{{- with .values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
Every container: no root, no privilege, nothing written but to mounts. Takes the root.
*/}}
{{- define "fogfall.container.security" -}}
securityContext:
  allowPrivilegeEscalation: false
  capabilities:
    drop:
      - ALL
  privileged: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  {{- with .Values.security.userId }}
  runAsUser: {{ int . }}
  runAsGroup: {{ int . }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/*
Image and pull policy of a container, of (dict "root" $ "image" I "tag" T).
*/}}
{{- define "fogfall.container.image" -}}
image: {{ include "fogfall.image" . | quote }}
imagePullPolicy: {{ default .root.Values.global.image.pullPolicy .image.pullPolicy }}
{{- end }}

{{/*
Probes of the programs' admin routes, of a component's values.
*/}}
{{- define "fogfall.container.probes" -}}
startupProbe:
  httpGet:
    path: /healthz
    port: http
  {{- toYaml .probes.startup | nindent 2 }}
livenessProbe:
  httpGet:
    path: /healthz
    port: http
  {{- toYaml .probes.liveness | nindent 2 }}
readinessProbe:
  httpGet:
    path: /readyz
    port: http
  {{- toYaml .probes.readiness | nindent 2 }}
{{- end }}

{{/*
The port of the programs' admin routes.
*/}}
{{- define "fogfall.adminPort" -}}
9090
{{- end }}

{{/*
Not empty if KEDA scales the actors: it is asked for, and the cluster knows it.
*/}}
{{- define "fogfall.keda" -}}
{{- if and .Values.actor.keda.enabled (.Capabilities.APIVersions.Has "keda.sh/v1alpha1/ScaledObject") -}}
true
{{- end }}
{{- end }}

{{/*
Not empty if PodMonitors are made.
*/}}
{{- define "fogfall.podMonitor" -}}
{{- if and .Values.monitoring.podMonitor.enabled (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PodMonitor") -}}
true
{{- end }}
{{- end }}

{{/*
The claim of a stateful set. Nothing in it may change with the chart's version.
*/}}
{{- define "fogfall.claim" -}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata:
    name: data
    labels:
      {{- include "fogfall.selectorLabels" . | nindent 6 }}
    {{- with .values.persistence.annotations }}
    annotations:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  spec:
    accessModes:
      {{- toYaml .values.persistence.accessModes | nindent 6 }}
    {{- with default .root.Values.global.storageClass .values.persistence.storageClass }}
    storageClassName: {{ . | quote }}
    {{- end }}
    resources:
      requests:
        storage: {{ .values.persistence.size }}
{{- end }}
