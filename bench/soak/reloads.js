/**
 * The reloads of a soak: each one changes a component, so that a receiver, a queue, a journal, compiled statements or a
 * whole extension is replaced while requests are under way.
 *
 * @typedef {Record<string, any>} Json
 */

/**
 * Components by section and id, and what changes in them: values that no reload had before.
 * @type {readonly (readonly [section: string, id: string, change: (n: number) => Json])[]}
 */
const CHANGES = [
  ["exporters", "otlp_http/failing", (n) => ({ headers: { "x-reload": `${n}` } })],
  ["exporters", "otlp_http/steady", (n) => ({ sending_queue: { num_consumers: 8 + (n % 5) } })],
  ["receivers", "otlp", (n) => ({ limits: { max_connections: 10_000 + n } })],
  ["processors", "pii", (n) => ({ fields: { [`secret.${n}`]: "redact" } })],
  ["processors", "transform", (n) => ({ log_statements: [replaceUser(n)] })],
  ["processors", "rate_limit", (n) => ({ limit: 1000 + n })],
  ["processors", "tail_sampling", (n) => ({ decision_wait: `${2000 + n}ms` })],
  ["connectors", "span_metrics", (n) => ({ metrics_flush_interval: `${10_000 + n}ms` })],
  ["exporters", "otlp_grpc", (n) => ({ headers: { "x-reload": `${n}` } })],
  ["exporters", "prometheus", (n) => ({ metric_expiration: `${60_000 + n}ms` })],
  ["extensions", "admin", (n) => ({ allowed_hosts: [`host-${n}`] })],
];

function replaceUser(/** @type {number} */ n) {
  return { statements: [`replace_pattern(log.body, "user-[0-9]+", "user ${n}")`] };
}

/**
 * The config of the n-th reload: one component differs from the config that the agent was started with. A reload thus
 * replaces two components, its own and the one that goes back.
 *
 * @param {Json} first @param {number} n
 */
export function reloadedConfig(first, n) {
  const possible = CHANGES.filter(([section, id]) => first[section]?.[id] !== undefined);
  const [section, id, change] = /** @type {typeof CHANGES[number]} */ (possible[n % possible.length]);
  return { ...first, [section]: { ...first[section], [id]: { ...first[section][id], ...change(n) } } };
}
