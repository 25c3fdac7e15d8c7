{{/*
The way to NATS and Redis: the chart's own or others. Passwords are read from secrets into the environment, all else is a flag.
A role is learner, ingester, actor or operator; the programs of all roles have the same flags.
*/}}

{{- define "fogfall.nats.fullname" -}}
{{ include "fogfall.fullname" . }}-nats
{{- end }}

{{- define "fogfall.redis.fullname" -}}
{{ include "fogfall.fullname" . }}-redis
{{- end }}

{{- define "fogfall.nats.urls" -}}
{{- if .Values.nats.enabled -}}
{{ ternary "tls" "nats" .Values.nats.tls.enabled }}://{{ include "fogfall.nats.fullname" . }}:4222
{{- else -}}
{{ join "," .Values.externalNats.urls }}
{{- end }}
{{- end }}

{{- define "fogfall.redis.url" -}}
{{- if .Values.redis.enabled -}}
{{ ternary "rediss" "redis" .Values.redis.tls.enabled }}://{{ include "fogfall.redis.fullname" . }}:6379/0
{{- else -}}
{{ .Values.externalRedis.url }}
{{- end }}
{{- end }}

{{/*
Copies of what is on the bus.
*/}}
{{- define "fogfall.nats.copies" -}}
{{- if .Values.bus.replicas }}{{ .Values.bus.replicas }}{{ else if .Values.nats.enabled }}{{ .Values.nats.replicas }}{{ else }}1{{ end }}
{{- end }}

{{- define "fogfall.nats.secret" -}}
{{- if .Values.nats.enabled }}{{ default (include "fogfall.nats.fullname" .) .Values.nats.auth.existingSecret }}{{ else }}{{ .Values.externalNats.auth.existingSecret }}{{ end }}
{{- end }}

{{- define "fogfall.redis.secret" -}}
{{- if .Values.redis.enabled }}{{ default (include "fogfall.redis.fullname" .) .Values.redis.auth.existingSecret }}{{ else }}{{ .Values.externalRedis.existingSecret }}{{ end }}
{{- end }}

{{/*
The secret with authorities and certificates; empty if there is none.
*/}}
{{- define "fogfall.nats.tlsSecret" -}}
{{- if .Values.nats.enabled }}{{ if .Values.nats.tls.enabled }}{{ .Values.nats.tls.existingSecret }}{{ end }}{{ else }}{{ .Values.externalNats.tls.existingSecret }}{{ end }}
{{- end }}

{{- define "fogfall.redis.tlsSecret" -}}
{{- if .Values.redis.enabled }}{{ if .Values.redis.tls.enabled }}{{ .Values.redis.tls.existingSecret }}{{ end }}{{ else }}{{ .Values.externalRedis.tls.existingSecret }}{{ end }}
{{- end }}

{{/*
Not empty if clients show a certificate to NATS.
*/}}
{{- define "fogfall.nats.clientCertificate" -}}
{{- if ternary (and .Values.nats.tls.enabled .Values.nats.tls.verify) .Values.externalNats.tls.clientCertificate .Values.nats.enabled -}}
true
{{- end }}
{{- end }}

{{/*
First word of the subjects that answers to a role come back on, of (dict "root" $ "role" R): nobody can read another's.
*/}}
{{- define "fogfall.nats.inbox" -}}
{{- if .root.Values.nats.enabled }}{{ if .root.Values.nats.auth.enabled }}_INBOX_{{ .role }}{{ end }}{{ else }}{{ get .root.Values.externalNats.inboxes .role }}{{ end }}
{{- end }}

{{/*
Flags of the bus, of (dict "root" $ "role" R).
*/}}
{{- define "fogfall.nats.args" -}}
- {{ printf "--nats=%s" (include "fogfall.nats.urls" .root) | quote }}
{{- with include "fogfall.nats.inbox" . }}
- {{ printf "--nats-inbox=%s" . | quote }}
{{- end }}
{{- if include "fogfall.nats.tlsSecret" .root }}
- --nats-ca=/etc/fogfall/nats-tls/ca.crt
{{- if include "fogfall.nats.clientCertificate" .root }}
- --nats-certificate=/etc/fogfall/nats-tls/tls.crt
- --nats-key=/etc/fogfall/nats-tls/tls.key
{{- end }}
{{- end }}
{{- if and (not .root.Values.nats.enabled) (eq .root.Values.externalNats.auth.method "credentials") }}
- --nats-credentials=/etc/fogfall/nats-credentials/nats.creds
{{- end }}
{{- end }}

{{/*
Variables of the bus, of the same.
*/}}
{{- define "fogfall.nats.env" -}}
{{- $values := .root.Values }}
{{- $secret := include "fogfall.nats.secret" .root }}
{{- if $values.nats.enabled }}
{{- if $values.nats.auth.enabled }}
- name: FOGFALL_NATS_USER
  value: {{ .role }}
- name: FOGFALL_NATS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ $secret | quote }}
      key: {{ .role }}-password
{{- end }}
{{- else if has $values.externalNats.auth.method (list "password" "token" "nkey") }}
{{- if eq $values.externalNats.auth.method "password" }}
- name: FOGFALL_NATS_USER
  value: {{ get $values.externalNats.auth.users .role | quote }}
{{- end }}
- name: FOGFALL_NATS_{{ upper $values.externalNats.auth.method }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret | quote }}
      key: {{ get $values.externalNats.auth.keys .role | quote }}
{{- end }}
{{- end }}

{{/*
The user of a role at Redis.
*/}}
{{- define "fogfall.redis.user" -}}
{{- $user := ternary "operator" "fogfall" (eq .role "operator") }}
{{- if .root.Values.redis.enabled }}{{ $user }}{{ else }}{{ get .root.Values.externalRedis.users $user }}{{ end }}
{{- end }}

{{/*
Flags of the replay log, of (dict "root" $ "role" R).
*/}}
{{- define "fogfall.redis.args" -}}
- {{ printf "--redis=%s" (include "fogfall.redis.url" .root) | quote }}
{{- if include "fogfall.redis.tlsSecret" .root }}
- --redis-ca=/etc/fogfall/redis-tls/ca.crt
{{- end }}
{{- if and (not .root.Values.redis.enabled) (not .root.Values.externalRedis.requireAof) }}
- --redis-require-aof=false
{{- end }}
{{- end }}

{{/*
Variables of the replay log, of the same.
*/}}
{{- define "fogfall.redis.env" -}}
{{- $values := .root.Values }}
{{- $user := ternary "operator" "fogfall" (eq .role "operator") }}
{{- $auth := ternary $values.redis.auth.enabled (not (empty $values.externalRedis.existingSecret)) $values.redis.enabled }}
{{- if $auth }}
{{- with include "fogfall.redis.user" . }}
- name: FOGFALL_REDIS_USER
  value: {{ . | quote }}
{{- end }}
- name: FOGFALL_REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ include "fogfall.redis.secret" .root | quote }}
      key: {{ if $values.redis.enabled }}{{ ternary "operator-password" "password" (eq $user "operator") }}{{ else }}{{ get $values.externalRedis.keys $user }}{{ end }}
{{- end }}
{{- end }}

{{/*
Mounts of what the flags name, of (dict "root" $ "role" R "redis" BOOL).
*/}}
{{- define "fogfall.servers.mounts" -}}
{{- if include "fogfall.nats.tlsSecret" .root }}
- name: nats-tls
  mountPath: /etc/fogfall/nats-tls
  readOnly: true
{{- end }}
{{- if and (not .root.Values.nats.enabled) (eq .root.Values.externalNats.auth.method "credentials") }}
- name: nats-credentials
  mountPath: /etc/fogfall/nats-credentials
  readOnly: true
{{- end }}
{{- if and .redis (include "fogfall.redis.tlsSecret" .root) }}
- name: redis-tls
  mountPath: /etc/fogfall/redis-tls
  readOnly: true
{{- end }}
{{- end }}

{{/*
Their volumes: of each secret no more than the role needs.
*/}}
{{- define "fogfall.servers.volumes" -}}
{{- with include "fogfall.nats.tlsSecret" .root }}
- name: nats-tls
  secret:
    secretName: {{ . | quote }}
    items:
      - key: ca.crt
        path: ca.crt
      {{- if include "fogfall.nats.clientCertificate" $.root }}
      - key: tls.crt
        path: tls.crt
      - key: tls.key
        path: tls.key
      {{- end }}
{{- end }}
{{- if and (not .root.Values.nats.enabled) (eq .root.Values.externalNats.auth.method "credentials") }}
- name: nats-credentials
  secret:
    secretName: {{ .root.Values.externalNats.auth.existingSecret | quote }}
    items:
      - key: {{ get .root.Values.externalNats.auth.keys .role | quote }}
        path: nats.creds
{{- end }}
{{- if .redis }}
{{- with include "fogfall.redis.tlsSecret" .root }}
- name: redis-tls
  secret:
    secretName: {{ . | quote }}
    items:
      - key: ca.crt
        path: ca.crt
{{- end }}
{{- end }}
{{- end }}

{{/*
Checksum of the chart's own secrets, of (dict "root" $ "redis" BOOL): programs read them when they start.
*/}}
{{- define "fogfall.servers.checksums" -}}
{{- $passwords := include "fogfall.checksum" (dict "root" .root "path" "/nats/secret.yaml") }}
{{- if .redis }}
{{- $passwords = print $passwords (include "fogfall.checksum" (dict "root" .root "path" "/redis/secret.yaml")) }}
{{- end }}
{{- sha256sum $passwords }}
{{- end }}

{{/*
Draws the passwords that are not given, of (dict "root" $ "secret" NAME "passwords" P "keys" (dict USER KEY)), once for all
templates: what was drawn by an earlier installation is kept. P holds them afterwards.
*/}}
{{- define "fogfall.drawPasswords" -}}
{{- $old := lookup "v1" "Secret" (include "fogfall.namespace" .root) .secret }}
{{- $data := dict }}
{{- with $old }}{{ $data = default (dict) .data }}{{ end }}
{{- range $user, $key := .keys }}
{{- if not (get $.passwords $user) }}
{{- $_ := set $.passwords $user (ternary (get $data $key | b64dec) (randAlphaNum 32) (hasKey $data $key)) }}
{{- end }}
{{- end }}
{{- end }}
