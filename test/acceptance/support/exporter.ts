import { expect } from "vitest";
import { sluiceProcess } from "../../agent/cli/dlq/support.js";
import { type AgentConfig, type AgentSettings, type Json, startAgent } from "./agent.js";
import { startBackend } from "./backend.js";

type Keys = Readonly<Record<string, unknown>>;

/** What a test says of its exporter beside what all have. */
export interface ExporterKeys extends Keys {
  readonly retry_on_failure?: Keys;
  readonly circuit_breaker?: Keys;
  readonly sending_queue?: Keys;
}

/**
 * An `otlp_http` exporter whose tests take no minutes: it retries after 10 ms without jitter, sends entries one by one,
 * and has no breaker unless the test writes one.
 */
export function otlpHttp({ url }: { readonly url: string }, keys: ExporterKeys = {}): object {
  const { retry_on_failure = {}, circuit_breaker = { enabled: false }, sending_queue = {}, ...others } = keys;
  return {
    endpoint: url,
    retry_on_failure: { initial_interval: "10ms", jitter: "none", ...retry_on_failure },
    circuit_breaker,
    sending_queue: { merge_backlog: false, ...sending_queue },
    ...others,
  };
}

/** A breaker that opens after the first failure and probes every 50 ms. */
export const QUICK_BREAKER = { failure_threshold: 1, reset_timeout: "50ms" };

/** The keys of an exporter with all defaults, as `sluice print-config --defaults` shows them to a user. */
export async function defaultKeys(exporter: Keys, type = "otlp_http", signal = "logs"): Promise<Json> {
  const yaml = JSON.stringify({
    receivers: { otlp: { protocols: { http: {} } } },
    exporters: { [type]: exporter },
    service: { pipelines: { [signal]: { receivers: ["otlp"], exporters: [type] } } },
  });
  const { code, out, err } = await sluiceProcess(["print-config", "--config", `yaml:${yaml}`, "--defaults", "--json"]);
  expect(code, err).toBe(0);
  return (JSON.parse(out) as Json).exporters[type];
}

/** A backend that refuses everything for good, and an agent with one exporter to it. */
export async function startRefusing(
  keys: ExporterKeys = {},
  config: Partial<AgentConfig> = {},
  settings: AgentSettings = {},
) {
  const backend = await startBackend();
  backend.behave(({ isCheck }) => (isCheck ? "ok" : 400));
  const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, keys) }, ...config }, settings);
  return { backend, agent };
}
