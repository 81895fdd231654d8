import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { type AnyRecordView, type Batch, readRecords } from "../../../src/plugin.js";
import { sluiceProcess } from "../../agent/cli/dlq/support.js";
import {
  type AgentProcess,
  type AgentProcessOptions,
  adminToken,
  startAgentProcess,
} from "../../support/agent-process.js";
import type { OtlpSink } from "../../support/otlp-sink.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

/** `bin/sluice.js run` with a row's YAML, and the ways in that its users have. */
export interface StartedAgent extends AgentProcess {
  /** Where its queues are. */
  readonly directory: string;
  /** The addresses of the admin API and of the health check. */
  readonly admin: string;
  readonly health: string;
  /** Sends a batch as OTLP over HTTP to a receiver; `otlp` unless named. */
  send(batch: Batch, options?: SendOptions): Promise<Response>;
  /** Asks the admin API, as the agent's own user. */
  api<Answer>(path: string, body?: object): Promise<Answer>;
  /** `sluice WORDS... --api ...`; fails unless it exits with 0. Gives what it prints. */
  sluice(...words: string[]): Promise<string>;
  /** Its Prometheus page. */
  metricsPage(): Promise<string>;
  /** A counter's or gauge's value, the sum of the series with these labels; 0 without one. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** Its log lines so far, as objects. */
  log(): Record<string, unknown>[];
  stop(): Promise<void>;
}

export interface SendOptions {
  readonly receiver?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface StartedOptions extends AgentProcessOptions {
  /** A directory of queues that an earlier agent left. */
  readonly directory?: string;
}

/** What every row's agent has beside its own YAML: free ports, and queues in a folder of the test. */
function base(directory: string, metricsPort: number): string {
  return `
receivers:
  otlp: {protocols: {http: {endpoint: "127.0.0.1:0", include_metadata: true}}}
extensions:
  admin: {endpoint: "127.0.0.1:0"}
  health_check: {endpoint: "127.0.0.1:0"}
  reliability: {directory: ${directory}}
service:
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: ${metricsPort}}}}}]}}
`;
}

/** Starts an agent that is killed at the end of the test, unless it has been stopped before. */
export async function startAgent(yaml: string, options: StartedOptions = {}): Promise<StartedAgent> {
  const folder = temporaryFolder();
  const directory = options.directory ?? join(folder, "queue");
  const metricsPort = await freePort();
  writeFileSync(join(folder, "row.yaml"), yaml);
  const args = ["--config", join(folder, "row.yaml"), ...(options.args ?? [])];
  const started = await startAgentProcess(
    { yaml: base(directory, metricsPort) },
    { ...options, cwd: options.cwd ?? folder, args },
  );
  onTestFinished(async () => {
    started.child.kill("SIGKILL");
    await started.exited;
  });
  return new RunningAgent(started, directory, metricsPort);
}

class RunningAgent implements StartedAgent {
  readonly child;
  readonly output;
  readonly exited;
  readonly ports;
  readonly directory: string;
  private readonly metricsPort: number;

  constructor(started: AgentProcess, directory: string, metricsPort: number) {
    this.child = started.child;
    this.output = started.output;
    this.exited = started.exited;
    this.ports = started.ports;
    this.directory = directory;
    this.metricsPort = metricsPort;
  }

  get admin(): string {
    return `http://${this.logged("admin API is listening")["endpoint"]}`;
  }

  get health(): string {
    return `http://${this.logged("health check is listening")["endpoint"]}`;
  }

  log(): Record<string, unknown>[] {
    const lines = this.output.stderr.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"));
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  send(batch: Batch, { receiver = "otlp", headers = {} }: SendOptions = {}): Promise<Response> {
    const address = this.logged("listening for OTLP", `receiver ${receiver}`)["http"];
    return fetch(`http://${address}/v1/${batch.signal}`, {
      method: "POST",
      headers: { "content-type": "application/x-protobuf", ...headers },
      body: new Uint8Array(batch.bytes),
    });
  }

  async api<Answer>(path: string, body?: object): Promise<Answer> {
    const headers = { authorization: `Bearer ${await adminToken(this.admin)}`, "content-type": "application/json" };
    const request = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${this.admin}/api/v1${path}`, request);
    expect(response.ok, `${path}: ${response.status}`).toBe(true);
    return (await response.json()) as Answer;
  }

  async sluice(...words: string[]): Promise<string> {
    const { code, out, err } = await sluiceProcess([...words, "--api", this.admin]);
    expect({ code, err }).toMatchObject({ code: 0 });
    return out;
  }

  async metricsPage(): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${this.metricsPort}/metrics`)).text();
  }

  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
    const series = new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, "gm");
    const found = [...(await this.metricsPage()).matchAll(series)];
    const matching = found.filter(([, own = ""]) => wanted.every((label) => own.includes(label)));
    return matching.reduce((sum, [, , value]) => sum + Number(value), 0);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGTERM");
    await this.exited;
  }

  private logged(message: string, component?: string): Record<string, unknown> {
    const line = this.log().find((each) => each["msg"] === message && isOf(each, component));
    if (line === undefined) throw new Error(`the agent has not logged "${message}": ${this.output.stderr}`);
    return line;
  }
}

function isOf(line: Record<string, unknown>, component: string | undefined): boolean {
  return component === undefined || line["component"] === component;
}

/** All records that a backend has, each with what `pick` reads of it. */
export function recordsIn<Picked>(sink: Pick<OtlpSink, "batches">, pick: (record: AnyRecordView) => Picked): Picked[] {
  const found: Picked[] = [];
  for (const batch of sink.batches) readRecords(batch, (record) => void found.push(pick(record)));
  return found;
}

/** The names of the events, spans or metrics that a backend has. */
export const namesIn = (sink: Pick<OtlpSink, "batches">) => recordsIn(sink, ({ name }) => name);
