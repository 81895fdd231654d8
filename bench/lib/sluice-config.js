/**
 * The agent's configuration for a place between client and sink: otlp -> batch -> otlphttp, with the queue off, so that
 * the client waits for the export. Batches are flushed at 1000 records or after 5 ms unless told otherwise.
 *
 * @param {import("./subjects.js").Place} place
 */
export function sluiceConfig({ ports, signal, encoding, batch, intake }) {
  return `extensions:
  health_check:
    endpoint: 127.0.0.1:${ports.health}
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:${ports.http}
      grpc:
        endpoint: 127.0.0.1:${ports.grpc}
processors:
  batch:
    timeout: ${batch.timeout}
    send_batch_size: ${batch.size}
exporters:
  otlphttp:
    endpoint: http://127.0.0.1:${ports.sink}
    compression: ${encoding === "gzip" ? "gzip" : "none"}
    sending_queue:
      enabled: false
service:
  extensions: [health_check]
  telemetry:
    metrics:
      level: none
    logs:
      level: warn
${intake === undefined ? "" : `  intake:\n    max_bytes: ${intake}\n`}  pipelines:
    ${signal}:
      receivers: [otlp]
      processors: [batch]
      exporters: [otlphttp]
`;
}
