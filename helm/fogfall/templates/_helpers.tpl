{{/*
Names, labels, images and numbers. What all pods have in common is in _pod.tpl, the way to NATS and Redis in _servers.tpl.
*/}}

{{- define "fogfall.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/*
Objects are named by it. At most 40 characters: names of services, pods of stateful sets and their labels end within 63.
*/}}
{{- define "fogfall.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- $name := include "fogfall.name" . }}
{{- $release := .Release.Name | replace "." "-" }}
{{- if contains $name $release }}
{{- $release | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" $release $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "fogfall.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{/*
The run's id on its servers.
*/}}
{{- define "fogfall.run" -}}
{{- default .Release.Name .Values.run.id }}
{{- end }}

{{/*
Labels that pods are selected by, of (dict "root" $ "component" C): nothing that an upgrade changes.
*/}}
{{- define "fogfall.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fogfall.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/*
Labels of an object, of (dict "root" $ "component" C).
*/}}
{{- define "fogfall.labels" -}}
{{ include "fogfall.selectorLabels" . }}
app.kubernetes.io/part-of: fogfall
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
The metadata of an object, of (dict "root" $ "component" C); "suffix" stands for C in its name, "name" for all of it, and
namespace, labels and annotations may be given besides.
*/}}
{{- define "fogfall.metadata" -}}
name: {{ default (printf "%s-%s" (include "fogfall.fullname" .root) (default .component .suffix)) .name | quote }}
namespace: {{ default (include "fogfall.namespace" .root) .namespace | quote }}
labels:
  {{- include "fogfall.labels" . | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
The components that have pods, as a list.
*/}}
{{- define "fogfall.components" -}}
- actor
- learner
{{- if .Values.ingester.enabled }}
- ingester
{{- end }}
{{- if .Values.nats.enabled }}
- nats
{{- end }}
{{- if .Values.redis.enabled }}
- redis
{{- end }}
{{- if .Values.tests.enabled }}
- test
{{- end }}
{{- end }}

{{/*
An image, of (dict "root" $ "image" I "tag" T), where T is taken if the image names none.
*/}}
{{- define "fogfall.image" -}}
{{- with default .root.Values.global.image.registry .image.registry }}{{ . | trimSuffix "/" }}/{{ end }}
{{- .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ default .tag .image.tag }}{{ end }}
{{- end }}

{{/*
A size such as 4GiB, as the programs have it, or 4Gi, as Kubernetes has it, in bytes.
*/}}
{{- define "fogfall.bytes" -}}
{{- $text := toString . }}
{{- $units := dict "" 1 "B" 1 "k" 1000 "kB" 1000 "M" 1000000 "MB" 1000000 "G" 1000000000 "GB" 1000000000 "T" 1000000000000 "TB" 1000000000000 "Ki" 1024 "KiB" 1024 "Mi" 1048576 "MiB" 1048576 "Gi" 1073741824 "GiB" 1073741824 "Ti" 1099511627776 "TiB" 1099511627776 }}
{{- $number := regexFind "^[0-9]+(\\.[0-9]+)?" $text }}
{{- $unit := trimPrefix $number $text | trim }}
{{- if or (not $number) (not (hasKey $units $unit)) }}
{{- fail (printf "%q is no size such as 4GiB or 4Gi" $text) }}
{{- end }}
{{- mulf (float64 $number) (get $units $unit) | int64 }}
{{- end }}

{{/*
Settings as a flat TOML table, which the programs read. JSON writes numbers and texts as TOML does.
*/}}
{{- define "fogfall.toml" -}}
{{- range $key, $value := . }}
{{ $key }} = {{ toJson $value }}
{{- end }}
{{- end }}

{{/*
All settings of the learner: given ones, and those that other values decide.
*/}}
{{- define "fogfall.learner.settings" -}}
{{- $decided := dict "bus_bytes" .Values.bus.bytes "bus_replicas" (include "fogfall.nats.copies" . | int) }}
{{- $usual := dict "device" (ternary "cuda" "cpu" (gt (int .Values.learner.gpu.count) 0)) }}
{{- merge $decided .Values.learner.settings $usual | toYaml }}
{{- end }}
