{{/* The template of a pod, for both modes. */}}
{{- define "domogate.pod" -}}
metadata:
  labels:
    {{- include "domogate.selector" . | nindent 4 }}
  annotations:
    checksum/settings: {{ include (print $.Template.BasePath "/configmap.yaml") . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "domogate.name" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  containers:
    - name: gateway
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      envFrom:
        - configMapRef:
            name: {{ include "domogate.name" . }}
      ports:
        - name: http
          containerPort: 8080
        {{- if .Values.metrics.enabled }}
        - name: metrics
          containerPort: {{ .Values.metrics.port }}
        {{- end }}
      # Migrations of a large database may take minutes.
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 2
        failureThreshold: 300
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 10
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 2
        timeoutSeconds: 5
        failureThreshold: 2
      lifecycle:
        preStop:
          sleep:
            seconds: {{ .Values.preStopSeconds }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: temporary, mountPath: /tmp}
        - {name: settings, mountPath: /etc/domogate/settings, readOnly: true}
        {{- if .Values.secretName }}
        - {name: credentials, mountPath: /etc/domogate/credentials, readOnly: true}
        {{- end }}
  volumes:
    - name: temporary
      emptyDir: {sizeLimit: 256Mi}
    - name: settings
      configMap:
        name: {{ include "domogate.name" . }}-file
    {{- if .Values.secretName }}
    - name: credentials
      secret:
        secretName: {{ .Values.secretName }}
        defaultMode: 0440
    {{- end }}
    {{- if eq .Values.mode "cluster" }}
    - name: data
      emptyDir: {sizeLimit: 1Gi}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- with .Values.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "domogate.selector" . | nindent 10 }}
    {{- end }}
{{- end -}}
