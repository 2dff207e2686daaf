{{- define "leadwire.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* The services by the names of their values: each one's name, port, secret settings, and what it reads of `settings`. */}}
{{- define "leadwire.services" -}}
gateway:
  name: gateway
  port: { name: http, number: 3000, setting: PORT }
  secrets: { SERVICE_TOKEN: serviceToken }
  shared: [LOG_LEVEL, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, TIME_ZONE]
leads:
  name: leads-service
  port: { name: grpc, number: 4000, setting: GRPC_PORT }
  secrets: { SERVICE_TOKEN: serviceToken, ENCRYPTION_KEYS: encryptionKeys, NATS_URL: natsUrl, DATABASE_URL: leadsDatabaseUrl }
  shared: [LOG_LEVEL, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, IDEMPOTENCY_RETENTION, NATS_REPLICAS]
files:
  name: files-service
  port: { name: http, number: 4000, setting: HTTP_PORT }
  secrets: { SERVICE_TOKEN: serviceToken, S3_ACCESS_KEY: s3AccessKey, S3_SECRET_KEY: s3SecretKey }
  shared: [LOG_LEVEL, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG]
webhooks:
  name: webhook-service
  port: { name: grpc, number: 4000, setting: GRPC_PORT }
  secrets:
    SERVICE_TOKEN: serviceToken
    ENCRYPTION_KEYS: encryptionKeys
    NATS_URL: natsUrl
    DATABASE_URL: webhooksDatabaseUrl
    SMTP_URL: smtpUrl
  shared: [LOG_LEVEL, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, TIME_ZONE, IDEMPOTENCY_RETENTION, NATS_REPLICAS]
{{- end }}

{{- /* Takes (list $ COMPONENT), as all below that name none. */}}
{{- define "leadwire.selectorLabels" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: {{ $.Chart.Name }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "leadwire.labels" -}}
{{- $ := index . 0 -}}
{{ include "leadwire.selectorLabels" . }}
app.kubernetes.io/version: {{ $.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version }}
{{- end }}

{{- define "leadwire.image" -}}
{{- $ := index . 0 -}}
{{- $repository := required "image.repository is needed: where the images are, such as registry.example.com/leadwire" $.Values.image.repository -}}
{{ $repository }}/{{ index . 1 }}:{{ $.Values.image.tag | default $.Chart.AppVersion }}
{{- end }}

{{- /* Takes $. */}}
{{- define "leadwire.publicUrl" -}}
{{ required "publicUrl is needed: where clients reach the API, such as https://leads.example.com" .Values.publicUrl | trimSuffix "/" }}
{{- end }}

{{- /* Takes $. */}}
{{- define "leadwire.host" -}}
{{ get (urlParse (include "leadwire.publicUrl" .)) "hostname" }}
{{- end }}

{{- /* The settings of a service that are no secrets, as YAML; empty ones are left out. Takes (list $ KEY), a key of leadwire.services. */}}
{{- define "leadwire.settings" -}}
{{- $ := index . 0 }}
{{- $key := index . 1 }}
{{- $service := get (include "leadwire.services" $ | fromYaml) $key }}
{{- $values := get $.Values $key }}
{{- $name := include "leadwire.fullname" $ }}
{{- $url := include "leadwire.publicUrl" $ }}
{{- $settings := dict "HOST" "0.0.0.0" "HEALTH_PORT" "9000" $service.port.setting (toString $service.port.number) }}
{{- if or (eq $key "gateway") (eq $key "leads") }}
{{- $_ := set $settings "FILES_SERVICE_URL" (printf "%s://%s-files-service:4000" (ternary "https" "http" (ne $.Values.tls.secret "")) $name) }}
{{- $_ := set $settings "WEBHOOK_SERVICE_URL" (printf "dns:///%s-webhook-service:4000" $name) }}
{{- end }}
{{- if eq $key "gateway" }}
{{- $_ := set $settings "LEADS_SERVICE_URL" (printf "dns:///%s-leads-service:4000" $name) }}
{{- $_ := set $settings "PUBLIC_URL" $url }}
{{- else if eq $key "files" }}
{{- $_ := required "files.settings.S3_ENDPOINT is needed: the object store, such as https://s3.eu-west-2.amazonaws.com" $values.settings.S3_ENDPOINT }}
{{- else if eq $key "webhooks" }}
{{- $_ := required "webhooks.settings.SMTP_FROM is needed: whom messages come from, such as Leadwire <leads@example.com>" $values.settings.SMTP_FROM }}
{{- end }}
{{- $defaults := dict }}
{{- range $service.shared }}
{{- $_ := set $defaults . (get $.Values.settings .) }}
{{- end }}
{{- if eq $key "leads" }}
{{- $_ := set $defaults "ASSETS_URL" (printf "%s/assets" $url) }}
{{- end }}
{{- range $setting, $value := merge $settings (include "leadwire.tlsSettings" $ | fromYaml) $values.settings $defaults }}
{{- if $value }}
{{ $setting }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The secret settings of a container. Takes (list $ SECRETS OWN): names of secrets by setting, and the Secret that has those given as values. */}}
{{- define "leadwire.secretSettings" -}}
{{- $ := index . 0 }}
{{- $own := index . 2 }}
{{- range $setting, $name := index . 1 }}
{{- $secret := get $.Values.secrets $name }}
- name: {{ $setting }}
  valueFrom:
    secretKeyRef:
      name: {{ ternary $own $secret.secret (ne $secret.value "") }}
      key: {{ ternary $name $secret.key (ne $secret.value "") }}
{{- end }}
{{- end }}

{{- /* What is given as values: name and value of each, as YAML. Takes $. */}}
{{- define "leadwire.givenSecrets" -}}
{{- range $name, $secret := .Values.secrets }}
{{- if $secret.value }}
{{ $name }}: {{ $secret.value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What the profile `restricted` of Pod Security requires of a pod. Images know no other user than root that may not run. Takes $. */}}
{{- define "leadwire.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "leadwire.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- /* The settings of TLS between services, as YAML. Takes $. */}}
{{- define "leadwire.tlsSettings" -}}
{{- if $.Values.tls.secret -}}
TLS_CERT_FILE: /etc/leadwire/tls/tls.crt
TLS_KEY_FILE: /etc/leadwire/tls/tls.key
TLS_CA_FILE: /etc/leadwire/tls/ca.crt
TLS_SERVER_NAME: {{ $.Values.tls.serverName | quote }}
{{- end }}
{{- end }}

{{- /* The volumes of a pod by their mount paths, as YAML. Takes $. */}}
{{- define "leadwire.volumes" -}}
{{- with $.Values.tls.secret }}
/etc/leadwire/tls: { name: tls, secret: { secretName: {{ . }} } }
{{- end }}
{{- with $.Values.tls.authorities }}
/etc/leadwire/authorities: { name: authorities, secret: { secretName: {{ . }} } }
{{- end }}
{{- end }}

{{- /* `volumeMounts` of the one container and `volumes` of a pod, which stand behind each other. Takes volumes by mount paths. */}}
{{- define "leadwire.mountAll" -}}
{{- if . }}
          volumeMounts:
            {{- range $path, $volume := . }}
            - { name: {{ $volume.name }}, mountPath: {{ $path }} }
            {{- end }}
      volumes:
        {{- range . }}
        - {{ toYaml . | nindent 10 | trim }}
        {{- end }}
{{- end }}
{{- end }}
