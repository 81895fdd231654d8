/**
 * The agent's config for a soak: every part that keeps something in memory. Each part can be switched on alone, to find
 * out which one grows. The limits are small, so that each part is full before the measurement begins; with the default
 * limits, for example 50,000 remembered decisions, that would take longer than a run.
 *
 * @typedef {"logs" | "traces" | "metrics"} Signal
 * @typedef {{ http: number, grpc: number, again: number, admin: number, health: number, prometheus: number,
 *   steady: number, failing: number, grpcBackend: number }} Ports
 * @typedef {object} Part
 * @property {string} holds what it keeps in memory
 * @property {readonly Signal[]} [signals] whose pipelines have its processor or exporter
 * @property {(ports: Ports) => object} [processor] the names of all these are the part's
 * @property {(ports: Ports) => object} [exporter]
 * @property {(ports: Ports) => object} [connector] gets traces or logs, and makes metrics
 */
const EVERY = /** @type {const} */ (["logs", "traces", "metrics"]);

/** Recovers within a cycle of outages. */
const HASTY = {
  retry_on_failure: { initial_interval: "100ms", max_interval: "1s", max_retries: 1000 },
  circuit_breaker: { reset_timeout: "500ms" },
  replay: { ramp: "1s" },
  dead_letter: { max_entries: 200 },
};
const FEW_RETRIES = { ...HASTY, retry_on_failure: { ...HASTY.retry_on_failure, max_retries: 1 } };

/** Processors in the order of a pipeline. @type {Readonly<Record<string, Part>>} */
export const PARTS = {
  pii: { holds: "texts seen lately", signals: EVERY, processor: () => ({}) },
  transform: { holds: "compiled patterns", signals: ["logs"], processor: transform },
  rate_limit: { holds: "keys", signals: ["logs"], processor: rateLimit },
  adaptive_sampling: { holds: "traces and their rates", signals: ["logs"], processor: adaptiveSampling },
  tail_sampling: { holds: "waiting traces, decisions", signals: ["traces"], processor: tailSampling },
  cumulative_to_delta: { holds: "series", signals: ["metrics"], processor: () => ({ max_series: 2000 }) },
  batch: { holds: "entries that are merged", signals: EVERY, processor: () => ({ timeout: "200ms" }) },
  span_metrics: { holds: "series, journal", signals: ["traces"], connector: spanMetrics },
  service_graph: { holds: "spans without their other side, series", signals: ["traces"], connector: serviceGraph },
  count: { holds: "nothing between batches", signals: ["logs"], connector: () => ({}) },
  otlp_grpc: { holds: "sessions", signals: EVERY, exporter: grpcExporter },
  prometheus: { holds: "series", signals: ["metrics"], exporter: prometheus },
  dedup: { holds: "keys of requests", signals: ["logs"], exporter: ({ again }) => ({ ...to(again), ...HASTY }) },
  dead_letters: { holds: "what is known of dead letters" },
  admin: { holds: "histories, taps" },
};

function transform() {
  const statement = 'replace_pattern(log.body, "user-[0-9]+", "user")';
  return { log_statements: [{ statements: [statement] }] };
}

function rateLimit() {
  return { limit: 1000, key: ["attributes.user.id"], max_keys: 500, global: false };
}

function adaptiveSampling() {
  return { remember_traces: 500 };
}

function tailSampling() {
  return {
    decision_wait: "2s",
    num_traces: 2000,
    decision_cache: { sampled_cache_size: 1000, non_sampled_cache_size: 1000 },
    policies: [
      { name: "errors", type: "status_code", status_code: { status_codes: ["ERROR"] } },
      { name: "some", type: "probabilistic", probabilistic: { sampling_percentage: 30 } },
    ],
  };
}

function spanMetrics() {
  return {
    metrics_flush_interval: "10s",
    max_series: 300,
    dimensions: [{ name: "http.route" }],
    exemplars: { enabled: true },
  };
}

function serviceGraph() {
  return { metrics_flush_interval: "10s", store: { ttl: "2s", max_items: 500 } };
}

function grpcExporter(/** @type {Ports} */ { grpcBackend }) {
  return { endpoint: `127.0.0.1:${grpcBackend}`, tls: { insecure: true }, ...HASTY };
}

function prometheus(/** @type {Ports} */ { prometheus }) {
  return { endpoint: `127.0.0.1:${prometheus}`, metric_expiration: "1m" };
}

const to = (/** @type {number} */ port) => ({ endpoint: `http://127.0.0.1:${port}` });
/** The keys of the limits above; with `asShipped` the defaults are used instead. */
const BOUNDS = ["decision_cache", "num_traces", "max_series", "max_keys", "remember_traces", "store"];

/**
 * @param {readonly string[]} names of parts @param {Ports} ports @param {string} folder @param {boolean} asShipped
 */
export function soakConfig(names, ports, folder, asShipped) {
  const has = (/** @type {string} */ name) => names.includes(name);
  const chosen = Object.entries(PARTS).filter(([name]) => has(name));
  const made = (/** @type {"processor" | "exporter" | "connector"} */ kind, /** @type {Signal} */ signal) =>
    chosen.filter(([, part]) => part[kind] && part.signals?.includes(signal)).map(([name]) => componentId(name));
  const section = (/** @type {"processor" | "exporter" | "connector"} */ kind) =>
    Object.fromEntries(
      chosen.flatMap(([name, part]) => {
        const config = part[kind]?.(ports);
        return config === undefined ? [] : [[componentId(name), asShipped ? withoutBounds(config) : config]];
      }),
    );
  const sending = has("dead_letters") ? FEW_RETRIES : HASTY;
  const exporters = {
    "otlp_http/steady": { ...to(ports.steady), ...sending },
    "otlp_http/failing": { ...to(ports.failing), ...sending },
  };
  const main = Object.keys(exporters);
  const connectors = section("connector");
  return {
    extensions: {
      health_check: { endpoint: `127.0.0.1:${ports.health}` },
      admin: { endpoint: `127.0.0.1:${ports.admin}`, token_file: `${folder}/token` },
      reliability: { directory: `${folder}/queue` },
    },
    receivers: { otlp: receiver(ports.http, ports.grpc), ...(has("dedup") && { "otlp/again": again(ports, folder) }) },
    processors: section("processor"),
    exporters: { ...exporters, ...section("exporter"), ...(has("dedup") && { nop: {} }) },
    connectors,
    service: {
      extensions: ["health_check", "admin", "reliability"],
      telemetry: { logs: { level: "error" } },
      pipelines: {
        ...Object.fromEntries(
          EVERY.map((signal) => [
            signal,
            {
              receivers: ["otlp"],
              processors: made("processor", signal),
              exporters: [...main, ...made("exporter", signal), ...made("connector", signal)],
            },
          ]),
        ),
        ...(Object.keys(connectors).length > 0 && {
          "metrics/derived": { receivers: Object.keys(connectors), exporters: main },
        }),
        ...(has("dedup") && { "logs/again": { receivers: ["otlp/again"], exporters: ["nop"] } }),
      },
    },
  };
}

/** Two exporters of the type exist already. */
function componentId(/** @type {string} */ name) {
  return name === "dedup" ? "otlp_http/again" : name;
}

function receiver(/** @type {number} */ http, /** @type {number} */ grpc) {
  return {
    protocols: { http: { endpoint: `127.0.0.1:${http}` }, grpc: { endpoint: `127.0.0.1:${grpc}` } },
  };
}

/** The agent sends to itself: `dedup` remembers its own keys. */
function again(/** @type {Ports} */ ports, /** @type {string} */ folder) {
  return {
    protocols: { http: { endpoint: `127.0.0.1:${ports.again}` } },
    dedup: { max_entries: 500, directory: `${folder}/dedup` },
  };
}

function withoutBounds(/** @type {object} */ config) {
  return Object.fromEntries(Object.entries(config).filter(([key]) => !BOUNDS.includes(key)));
}
