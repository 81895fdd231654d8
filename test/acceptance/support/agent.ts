import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { sluiceProcess } from "../../agent/cli/dlq/support.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../support/agent-process.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { type LogRecord, logsBody } from "./records.js";
import { parseSamples, type Samples } from "./samples.js";

/** Everything of a config but what every agent of these tests has; see `startAgent`. */
export interface AgentConfig {
  readonly exporters: Readonly<Record<string, unknown>>;
  /** In place of `otlp` over HTTP and gRPC. */
  readonly receivers?: Readonly<Record<string, unknown>>;
  readonly processors?: Readonly<Record<string, unknown>>;
  readonly connectors?: Readonly<Record<string, unknown>>;
  /** More keys of the extension `reliability`. */
  readonly reliability?: Readonly<Record<string, unknown>>;
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** Instead of one pipeline of logs with all receivers, processors and exporters. */
  readonly pipelines?: Readonly<Record<string, unknown>>;
  readonly plugins?: readonly string[];
}

export interface AgentSettings {
  /** For queues that were there before; otherwise the agent has a directory of its own. */
  readonly directory?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The built agent as its users have it: a process, its ports, its admin API and its command line. */
export interface RunningAgent {
  readonly process: AgentProcess;
  /** Where its queues are. */
  readonly directory: string;
  /** Where it takes OTLP over HTTP: http://127.0.0.1:PORT. */
  readonly http: string;
  /** The origin of its admin API. */
  readonly admin: string;
  /** The origin of its health check. */
  readonly health: string;
  /** Its log so far, a line an object. */
  readonly log: readonly LogLine[];
  /** Posts log records; a text is a record with this body. Each call is one request, so one entry. */
  send(records: readonly (string | LogRecord)[], headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Gets from the admin API, below /api/v1: `get("/exporters")`. */
  get<Result = Json>(path: string): Promise<Result>;
  post<Result = Json>(path: string, body?: unknown): Promise<Result>;
  /** Runs `sluice ARGS --api ORIGIN`, which must end with 0; returns what it printed. */
  cli(...args: string[]): Promise<string>;
  /** Runs the command with --json. */
  cliJson<Result = Json>(...args: string[]): Promise<Result>;
  /** Its metrics, as Prometheus reads them. */
  metrics(): Promise<Samples>;
  /** The dead letters with all that they keep, as the admin API has them, the newest first. */
  deadLetters(): Promise<Json[]>;
  /** Ends it as an operator does: SIGTERM, and waits. */
  stop(): Promise<number | string>;
  kill(): Promise<void>;
}

/** Any JSON that the agent answers with: the tests read it as a user reads it. */
// biome-ignore lint/suspicious/noExplicitAny: a test names the fields that it expects, and fails if they are not there
export type Json = any;

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [key: string]: unknown;
}

/**
 * Starts the built agent (`bin/sluice.js run`) with queues on disk, admin API, health check and metrics, and ends it with
 * the test. The config is an object, because JSON is YAML.
 */
export async function startAgent(config: AgentConfig, settings: AgentSettings = {}): Promise<RunningAgent> {
  const directory = settings.directory ?? join(temporaryFolder(), "queue");
  const metricsPort = await freePort();
  const child = await startAgentProcess(
    { yaml: JSON.stringify(wholeConfig(config, directory, metricsPort)) },
    settings,
  );
  onTestFinished(() => void child.child.kill("SIGKILL"));
  return runningAgent(child, directory, metricsPort);
}

function wholeConfig(config: AgentConfig, directory: string, metricsPort: number): object {
  const { receivers = OTLP, processors = {}, connectors = {}, extensions = {}, exporters } = config;
  const ids = (section: object) => Object.keys(section);
  const logs = { receivers: ids(receivers), processors: ids(processors), exporters: ids(exporters) };
  const all = {
    admin: { endpoint: "127.0.0.1:0" },
    health_check: { endpoint: "127.0.0.1:0" },
    reliability: { directory, ...config.reliability },
    ...extensions,
  };
  return {
    ...(config.plugins === undefined ? {} : { plugins: config.plugins }),
    receivers,
    processors,
    connectors,
    exporters,
    extensions: all,
    service: {
      extensions: ids(all),
      telemetry: {
        metrics: { readers: [{ pull: { exporter: { prometheus: { host: "127.0.0.1", port: metricsPort } } } }] },
      },
      pipelines: config.pipelines ?? { logs },
    },
  };
}

const OTLP = { otlp: { protocols: { http: { endpoint: "127.0.0.1:0" }, grpc: { endpoint: "127.0.0.1:0" } } } };

function runningAgent(process: AgentProcess, directory: string, metricsPort: number): RunningAgent {
  const lines = () => process.output.stderr.split("\n").filter((line) => line.startsWith("{"));
  const originOf = (text: string) => {
    const line = lines().find((each) => each.includes(text));
    return line === undefined ? "" : `http://${(JSON.parse(line) as { endpoint: string }).endpoint}`;
  };
  const admin = originOf("admin API is listening");
  const http = `http://127.0.0.1:${process.ports.http}`;
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${await adminToken(admin)}`, "content-type": "application/json" };
    const response = await fetch(`${admin}/api/v1${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  const cli = async (...args: string[]) => {
    const { code, out, err } = await sluiceProcess([...args, "--api", admin]);
    expect(code, `sluice ${args.join(" ")}: ${err}`).toBe(0);
    return out;
  };
  const cliJson = async (...args: string[]) => JSON.parse(await cli(...args, "--json"));
  return {
    process,
    directory,
    http,
    admin,
    health: originOf("health check is listening"),
    get log() {
      return lines().map((line) => JSON.parse(line) as LogLine);
    },
    send: (records, headers = {}) =>
      fetch(`${http}/v1/logs`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: logsBody(records),
      }),
    get: (path) => call("GET", path),
    post: (path, body) => call("POST", path, body ?? {}),
    cli,
    cliJson,
    metrics: async () => parseSamples(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()),
    deadLetters: async () => {
      const { entries } = (await call("GET", "/dead-letters?limit=1000")) as { entries: { id: string }[] };
      const whole = await Promise.all(entries.map(({ id }) => call("GET", `/dead-letters/${id}`)));
      return whole.map(({ entry }: { entry: Json }) => entry);
    },
    stop: () => {
      process.child.kill("SIGTERM");
      return process.exited;
    },
    kill: async () => {
      process.child.kill("SIGKILL");
      await process.exited;
    },
  };
}
