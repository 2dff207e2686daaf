{{- define "leadwire.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* The services by the keys of their values: name, port, secrets, and the names read from `settings`. */}}
{{- define "leadwire.services" -}}
gateway:
  name: gateway
  port: { name: http, number: 3000, setting: PORT }
  secrets: { SERVICE_TOKEN: serviceToken, OIDC_CLIENT_SECRET: oidcClientSecret }
  shared: [LOG_LEVEL, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, TIME_ZONE]
leads:
  name: leads-service
  port: { name: grpc, number: 4000, setting: GRPC_PORT }
  secrets: { SERVICE_TOKEN: serviceToken, ENCRYPTION_KEYS: encryptionKeys, NATS_URL: natsUrl, DATABASE_URL: leadsDatabaseUrl }
  shared: [LOG_LEVEL, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, TIME_ZONE, IDEMPOTENCY_RETENTION, NATS_REPLICAS]
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
    WEBHOOK_PROXY: webhookProxy
  shared: [LOG_LEVEL, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, TIME_ZONE, IDEMPOTENCY_RETENTION, NATS_REPLICAS]
{{- end }}

{{- /* Takes (list $ COMPONENT), as do all templates below that name no parameters. */}}
{{- define "leadwire.selectorLabels" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: {{ $.Chart.Name }}
app.kubernetes.io/instance: {{ $.Release.Name | quote }}
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
{{- $repository := required "image.repository is needed: the address of the images, such as registry.example.com/leadwire" $.Values.image.repository -}}
{{ $repository }}/{{ index . 1 }}:{{ $.Values.image.tag | default $.Chart.AppVersion }}
{{- end }}

{{- /* Takes $. */}}
{{- define "leadwire.publicUrl" -}}
{{ required "publicUrl is needed: the address at which clients reach the API, such as https://leads.example.com" .Values.publicUrl | trimSuffix "/" }}
{{- end }}

{{- /* Takes $. */}}
{{- define "leadwire.host" -}}
{{ get (urlParse (include "leadwire.publicUrl" .)) "hostname" | lower }}
{{- end }}

{{- /*
The non-secret settings of a service, as YAML. Leaves out empty settings. Takes (list $ KEY), with a key of
leadwire.services.
*/}}
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
{{- $_ := required "webhooks.settings.SMTP_FROM is needed: the sender of messages, such as Leadwire <leads@example.com>" $values.settings.SMTP_FROM }}
{{- end }}
{{- $defaults := dict }}
{{- range $service.shared }}
{{- $_ := set $defaults . (get $.Values.settings .) }}
{{- end }}
{{- if eq $key "leads" }}
{{- $_ := set $defaults "ASSETS_URL" (printf "%s/assets" $url) }}
{{- end }}
{{- /* Leaves out settings that extraEnv sets, because a service refuses NAME together with NAME_FILE. */}}
{{- $inFiles := list }}
{{- range (include "leadwire.podValues" (list $ $values) | fromYaml).extraEnv }}
{{- $inFiles = append $inFiles (trimSuffix "_FILE" .name) }}
{{- end }}
{{- range $setting, $value := merge $settings (include "leadwire.tlsSettings" $ | fromYaml) $values.settings $defaults }}
{{- if and $value (not (has $setting $inFiles)) }}
{{ $setting }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The secrets that are given as values: name and value of each, as YAML. Takes $. */}}
{{- define "leadwire.givenSecrets" -}}
{{- range $name, $secret := .Values.secrets }}
{{- if $secret.value }}
{{ $name }}: {{ $secret.value | quote }}
{{- end }}
{{- end }}
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

{{- /* `pods` with the service's replacements, as YAML without empty values. Takes (list $ VALUES). */}}
{{- define "leadwire.podValues" -}}
{{- $own := index . 1 }}
{{- $pod := dict }}
{{- range $name, $value := (index . 0).Values.pods }}
{{- with ternary (get $own $name) $value (hasKey $own $name) }}
{{- $_ := set $pod $name . }}
{{- end }}
{{- end }}
{{- toYaml $pod }}
{{- end }}

{{- /*
A ServiceAccount, unless the values of the pod name an existing one. Takes a dict: `root`, `component`, `pod`,
`name`, `annotations`.
*/}}
{{- define "leadwire.serviceAccount" }}
{{- if dig "create" true .pod.serviceAccount }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  labels: {{- include "leadwire.labels" (list .root .component) | nindent 4 }}
  {{- with merge (dict) .annotations (.pod.serviceAccount.annotations | default dict) }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{- /*
The environment of a container, as YAML. A setting in extraEnv replaces the chart's setting. Takes the dict of
leadwire.pod.
*/}}
{{- define "leadwire.env" -}}
{{- $ := .root }}
{{- $args := . }}
{{- $given := list }}
{{- range .pod.extraEnv }}
{{- $given = concat $given (list .name (trimSuffix "_FILE" .name)) }}
{{- end }}
{{- range $setting, $value := .settings }}
{{- if not (has $setting $given) }}
- { name: {{ $setting }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
{{- range $setting, $name := .secrets }}
{{- $secret := get $.Values.secrets $name }}
{{- if has $setting $given }}
{{- else if or $secret.value $secret.secret }}
- name: {{ $setting }}
  valueFrom:
    secretKeyRef:
      name: {{ ternary $args.given $secret.secret (ne $secret.value "") }}
      key: {{ ternary $name $secret.key (ne $secret.value "") }}
{{- else if not (or $args.pod.extraEnvFrom (has $name (list "s3AccessKey" "s3SecretKey" "webhookProxy" "oidcClientSecret"))) }}
{{- fail (printf "secrets.%s is needed: a secret or a value, or %s or %s_FILE in extraEnv of %s" $name $setting $setting $args.name) }}
{{- end }}
{{- end }}
{{- with .pod.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /*
A pod's metadata and spec. Takes a dict:
root       $
component  the component that its labels name
pod        the output of leadwire.podValues
name       the name of its container and its image
account    the ServiceAccount that is made for the pod; if absent, the pod uses the default account
configMap  the ConfigMap of its settings
settings   further settings by name
secrets    names of `secrets` by setting
given      the Secret that has the secrets given as values
sum        a text; if it changes, the pod is replaced
volumes    further volumes by mount path
spec       further fields of the pod
container  further fields of its container
The pod complies with the profile `restricted` of Pod Security, which does not allow the user root.
*/}}
{{- define "leadwire.pod" -}}
{{- $ := .root }}
metadata:
  labels:
    {{- include "leadwire.labels" (list $ .component) | nindent 4 }}
    {{- with .pod.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/settings: {{ printf "%s%s" (.sum | default "") (include "leadwire.givenSecrets" $) | sha256sum }}
    {{- with .pod.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with ternary .account .pod.serviceAccount.name (dig "create" true .pod.serviceAccount) }}
  serviceAccountName: {{ . }}
  {{- end }}
  automountServiceAccountToken: {{ .pod.automountServiceAccountToken | default false }}
  enableServiceLinks: false
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile: { type: RuntimeDefault }
  {{- with $.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with pick .pod "affinity" "initContainers" "nodeSelector" "priorityClassName" "tolerations" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- toYaml .spec | nindent 2 }}
  containers:
    - name: {{ .name }}
      image: {{ include "leadwire.image" (list $ .name) }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      {{- toYaml .container | nindent 6 }}
      {{- if or .configMap .pod.extraEnvFrom }}
      envFrom:
        {{- with .configMap }}
        - configMapRef: { name: {{ . }} }
        {{- end }}
        {{- with .pod.extraEnvFrom }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- with include "leadwire.env" . | trim }}
      env: {{- . | nindent 8 }}
      {{- end }}
      {{- $volumes := merge (include "leadwire.volumes" $ | fromYaml) (.volumes | default dict) }}
      {{- if or $volumes .pod.extraVolumeMounts }}
      volumeMounts:
        {{- range $path, $volume := $volumes }}
        - { name: {{ $volume.name }}, mountPath: {{ $path }} }
        {{- end }}
        {{- with .pod.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
    {{- with .pod.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if or $volumes .pod.extraVolumes }}
  volumes:
    {{- range $volumes }}
    - {{ toYaml . | nindent 6 | trim }}
    {{- end }}
    {{- with .pod.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end }}
