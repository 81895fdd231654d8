/**
 * The agent's config between client and sink: otlp -> batch -> otlphttp. Without a queue the client waits for the
 * export; with one it is answered when the batch is on disk, in the place's folder. Batches are flushed at 1000 records
 * or after 5 ms by default; a place with `batching` has `batch: {}`, or no batch processor.
 *
 * @param {import("./subjects.js").Place} place
 */
export function sluiceConfig(place) {
  const { ports, signal, intake, queue, folder, workers } = place;
  const processors = { ...place.processors, ...batchOf(place) };
  const reliability = queue === undefined ? {} : { reliability: { directory: `${folder}/queue` } };
  const exporters = exportersOf(place);
  return JSON.stringify(
    {
      extensions: { health_check: { endpoint: `127.0.0.1:${ports.health}` }, ...reliability },
      receivers: {
        otlp: {
          protocols: {
            http: { endpoint: `127.0.0.1:${ports.http}` },
            grpc: { endpoint: `127.0.0.1:${ports.grpc}` },
          },
        },
      },
      processors,
      exporters,
      service: {
        extensions: ["health_check", ...Object.keys(reliability)],
        telemetry: { metrics: { level: "none" }, logs: { level: "warn" } },
        ...(workers === undefined ? {} : { workers }),
        ...(intake === undefined ? {} : { intake: { max_bytes: intake } }),
        pipelines: {
          [signal]: {
            receivers: ["otlp"],
            processors: Object.keys(processors),
            exporters: Object.keys(exporters),
          },
        },
      },
    },
    null,
    2,
  );
}

/** @returns {Record<string, object>} */
function batchOf(/** @type {import("./subjects.js").Place} */ { batch, batching }) {
  if (batching === "without") return {};
  return { batch: batching === "with" ? {} : { timeout: batch.timeout, send_batch_size: batch.size } };
}

function exportersOf(/** @type {import("./subjects.js").Place} */ { ports, encoding, queue }) {
  const settings =
    queue === undefined ? { sending_queue: { enabled: false } } : { durability: queue.durability, ...queue.exporter };
  const to = (/** @type {number} */ port) => ({
    endpoint: `http://127.0.0.1:${port}`,
    compression: encoding === "gzip" ? "gzip" : "none",
    ...settings,
  });
  const beside = queue?.beside === undefined ? {} : { "otlphttp/beside": to(queue.beside) };
  return { otlphttp: to(ports.sink), ...beside };
}
