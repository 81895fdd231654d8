import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";

/** Text that a stranger may write into a record, or a backend into its answer. */
export const HOSTILE =
  '<img src=x onerror="alert(1)"><script>alert(2)</script> \u001b[31mred\u001b[0m \u202etxt.exe\u202c \u0000end';
/** The token that lets the pages of the tests in, also after a restart. */
export const CONSOLE_TOKEN = "token-of-the-console-tests";
/** A token of vera, who may only look. */
export const VIEWER_TOKEN = "token-of-a-viewer-in-tests";
/** A value that is too long to show all of it. */
export const HUGE = "y".repeat(300_000);

/** An agent with its console, whose backend `bad` refuses everything, and `down` is overloaded, until told otherwise. */
export interface ConsoleAgent {
  readonly url: string;
  readonly sinks: { readonly good: OtlpSink; readonly bad: OtlpSink; readonly down: OtlpSink };
  /** Asks the API. */
  api<T>(path: string): Promise<T>;
  sendLog(body: string, attributes?: Readonly<Record<string, string>>): Promise<void>;
  sendSpan(name: string): Promise<void>;
  /** Ends the agent, and starts it again with its queues at the same address. */
  restart(between?: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

/** `more` has further lines of some sections of the config. */
export async function startConsoleAgent(
  more: {
    readonly receivers?: string;
    readonly processors?: string;
    readonly exporters?: string;
    readonly pipelines?: string;
    readonly service?: string;
    /** The extension `insight` with its config. */
    readonly insight?: string;
  } = {},
): Promise<ConsoleAgent> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-console-"));
  const sinks = { good: await startSink(), bad: await startSink(), down: await startSink() };
  sinks.bad.respond((_, response) =>
    response.writeHead(400, { "content-type": "text/plain; charset=utf-8" }).end(HOSTILE.replace("\u0000", "")),
  );
  sinks.down.decide(() => 503);
  const adminPort = await freePort();
  const yaml = `
receivers:
  otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}
  ${more.receivers ?? ""}
processors:
  attributes/stage: {actions: [{key: stage, value: test, action: insert}]}
  ${more.processors ?? ""}
exporters:
  otlp_http/good: {endpoint: "${sinks.good.url}"}
  otlp_http/bad: {endpoint: "${sinks.bad.url}"}
  otlp_http/down: {endpoint: "${sinks.down.url}", retry_on_failure: {initial_interval: 1h, max_interval: 1h}}
  ${more.exporters ?? ""}
extensions:
  reliability: {directory: ${join(directory, "queue")}}
  admin:
    endpoint: "127.0.0.1:${adminPort}"
    trace_url: "https://traces.example/{trace_id}?from=sluice"
    tokens:
      - {name: console, token: ${CONSOLE_TOKEN}, roles: [view, reveal, replay, purge, configure]}
      - {name: vera, token: ${VIEWER_TOKEN}, roles: [view]}
  ${more.insight ?? ""}
service:
  extensions: [reliability, admin${more.insight === undefined ? "" : ", insight"}]
  telemetry: {metrics: {level: none}}
  ${more.service ?? ""}
  pipelines:
    logs: {receivers: [otlp], processors: [attributes/stage], exporters: [otlp_http/good, otlp_http/bad]}
    traces: {receivers: [otlp], exporters: [otlp_http/down]}
    ${more.pipelines ?? ""}
`;
  const url = `http://127.0.0.1:${adminPort}`;
  let agent: AgentProcess = await startAgentProcess({ yaml });
  const send = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" };
    const address = `http://127.0.0.1:${agent.ports.http}/v1/${path}`;
    const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
    expect(response.status).toBe(200);
  };
  const end = async () => {
    agent.child.kill("SIGTERM");
    await agent.exited;
  };
  return {
    url,
    sinks,
    api: async <T>(path: string) =>
      (await (
        await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${CONSOLE_TOKEN}` } })
      ).json()) as T,
    async sendLog(body, attributes = {}) {
      const keys = Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));
      const ids = { traceId: "5b8efff798038103d269b633813fc60c", spanId: "eee19b7ec3c1b174" };
      const record = {
        ...ids,
        timeUnixNano: "1",
        eventName: "order.paid",
        body: { stringValue: body },
        attributes: keys,
      };
      await send("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
    },
    async sendSpan(name) {
      const ids = { traceId: "5b8efff798038103d269b633813fc60c", spanId: "eee19b7ec3c1b174" };
      const span = { ...ids, name, kind: 1, startTimeUnixNano: "1", endTimeUnixNano: "2" };
      await send("traces", { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
    },
    async restart(between = async () => {}) {
      await end();
      await between();
      agent = await startAgentProcess({ yaml });
    },
    async stop() {
      await end();
      await Promise.all(Object.values(sinks).map((sink) => sink.close()));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
