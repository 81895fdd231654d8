/** A config as it was written years ago, with comments, quotes and odd blanks that must stay. */
export const OLD = `# The gateway of the shop.
receivers:
  otlp:
    protocols:
      grpc:   # the SDKs
  opencensus:
    endpoint: 0.0.0.0:55678
  "hostmetrics/box":  # every minute
    collection_interval: 60s
    scrapers: {cpu: }

processors:
  # It was needed once.
  queued_retry:
    num_workers: 4
  batch:

exporters:
  logging:
    loglevel: debug # all of it
  otlphttp/backend:
    endpoint: \${env:BACKEND:-http://127.0.0.1:4318}
    insecure: true
    ca_file: /etc/ca.pem   # ours
    headers: {authorization: "Bearer abc-secret-123"}
    dead_letter:
      forward_to: logging
  otlp:
    endpoint: 127.0.0.1:4317
    tls_settings:
      insecure: true

extensions:
  memory_ballast: {size_mib: 512}
  pprof:
  health_check: {}

service:
  extensions: [health_check, memory_ballast, pprof]
  pipelines:
    traces:
      receivers: [opencensus, otlp]
      processors:
        - queued_retry
        - batch
      exporters: [ logging, 'otlphttp/backend' ] # both
    metrics:
      receivers:
        - otlp
        - hostmetrics/box
      processors: [queued_retry]
      exporters:
      - logging # shown
      - otlp
`;

export const NEW = `# The gateway of the shop.
receivers:
  otlp:
    protocols:
      grpc:   # the SDKs
  "host_metrics/box":  # every minute
    collection_interval: 60s
    scrapers: {cpu: }

processors:
  # It was needed once.
  batch:

exporters:
  debug:
    verbosity: detailed # all of it
  otlp_http/backend:
    endpoint: \${env:BACKEND:-http://127.0.0.1:4318}
    tls:
      ca_file: /etc/ca.pem   # ours
      insecure: true
    headers: {authorization: "Bearer abc-secret-123"}
    dead_letter:
      forward_to: debug
  otlp_grpc:
    endpoint: 127.0.0.1:4317
    tls:
      insecure: true

extensions:
  health_check: {}

service:
  extensions: [health_check]
  pipelines:
    traces:
      receivers: [otlp]
      processors:
        - batch
      exporters: [ debug, 'otlp_http/backend' ] # both
    metrics:
      receivers:
        - otlp
        - host_metrics/box
      processors: []
      exporters:
      - debug # shown
      - otlp_grpc
`;
