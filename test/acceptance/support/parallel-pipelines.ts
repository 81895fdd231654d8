import { expect, onTestFinished } from "vitest";
import type { Batch, Signal } from "../../../src/plugin.js";
import { type OtlpSink, startSink } from "../../support/otlp-sink.js";
import { type SendOptions, type StartedAgent, startAgent } from "./started-agent.js";

/** One agent with a pipeline for each of several processors, behind a receiver and before a backend of its own. */
export interface ParallelPipelines {
  readonly agent: StartedAgent;
  /** By the ids of the processors. */
  readonly sinks: Readonly<Record<string, OtlpSink>>;
  /** Sends a batch through this processor; gives the backend, which has what was let through unless the processor waits. */
  send(processor: string, batch: Batch, options?: SendOptions): Promise<OtlpSink>;
}

/** A backend that is closed at the end of the test. */
export async function startBackendSink(): Promise<OtlpSink> {
  const sink = await startSink();
  onTestFinished(() => sink.close());
  return sink;
}

export async function startPipelines(
  signal: Signal,
  processors: Readonly<Record<string, object>>,
): Promise<ParallelPipelines> {
  const ids = Object.keys(processors);
  const sinks: Record<string, OtlpSink> = {};
  for (const id of ids) sinks[id] = await startBackendSink();
  const section = (make: (id: string, i: number) => [string, object]) =>
    JSON.stringify(Object.fromEntries(ids.map(make)));
  const agent = await startAgent(`
receivers: ${section((_, i) => [`otlp/${i}`, { protocols: { http: { endpoint: "127.0.0.1:0" } } }])}
processors: ${JSON.stringify(processors)}
exporters: ${section((id, i) => [`otlp_http/${i}`, { endpoint: sinks[id]!.url, sending_queue: { enabled: false } }])}
service:
  pipelines: ${section((id, i) => [`${signal}/${i}`, { receivers: [`otlp/${i}`], processors: [id], exporters: [`otlp_http/${i}`] }])}
`);
  return {
    agent,
    sinks,
    async send(id, batch, options) {
      const response = await agent.send(batch, { receiver: `otlp/${ids.indexOf(id)}`, ...options });
      expect(response.status, await response.text()).toBe(200);
      return sinks[id]!;
    },
  };
}
