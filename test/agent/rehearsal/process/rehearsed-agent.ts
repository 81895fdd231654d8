import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { RehearsalStatus } from "../../../../src/runtime/contract/rehearsal/rehearsal-control.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
export type Answer = any;

/** Parts of a config that tests change. */
export interface ConfigParts {
  /** The processors, as YAML on one line, and those that the pipeline uses. */
  readonly processors?: string;
  readonly use?: string;
  /** Further lines at the top. */
  readonly top?: string;
  readonly tokens?: string;
}

/** An agent whose config is a file, and which gets two records in a request until the test ends. */
export interface RehearsedAgent {
  readonly folder: string;
  readonly file: string;
  readonly url: string;
  readonly agent: AgentProcess;
  readonly sink: OtlpSink;
  /** Writes another config to the file of the agent, or to this one. */
  write(parts: ConfigParts, file?: string): void;
  request(method: string, path: string, body?: object, token?: string): Promise<{ status: number; body: Answer }>;
  /** Starts a rehearsal and waits until it has ended. */
  rehearse(body?: object): Promise<RehearsalStatus>;
  /** Resolves with the rehearsal when it is in this state. */
  reached(...states: RehearsalStatus["state"][]): Promise<RehearsalStatus>;
}

export async function startRehearsedAgent(
  parts: ConfigParts = {},
  env: Record<string, string> = {},
): Promise<RehearsedAgent> {
  const sink = await startSink();
  const folder = temporaryFolder();
  const file = join(folder, "agent.yaml");
  const write = (changed: ConfigParts, to = file) =>
    writeFileSync(to, configText(folder, sink.url, { ...parts, ...changed }));
  write({});
  const agent = await startAgentProcess({ file }, { env });
  const [, endpoint] = /"endpoint":"([^"]+)","msg":"admin API is listening"/.exec(agent.output.stderr)!;
  const url = `http://${endpoint}`;
  const ownToken = await adminToken(url);
  const stopSending = sendAlways(agent.ports.http);
  onTestFinished(async () => {
    await stopSending();
    agent.child.kill("SIGKILL");
    await agent.exited;
    await sink.close();
  });
  const request: RehearsedAgent["request"] = async (method, path, body, token = ownToken) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(`${url}/api/v1${path}`, init);
    return { status: response.status, body: await response.json() };
  };
  const reached: RehearsedAgent["reached"] = async (...states) => {
    let status: RehearsalStatus | undefined;
    await expect
      .poll(async () => {
        status = (await request("GET", "/config/rehearsal")).body.rehearsal;
        return status?.state;
      })
      .toSatisfy((state) => states.includes(state));
    return status!;
  };
  return {
    ...{ folder, file, url, agent, sink, write, request, reached },
    async rehearse(body = { seconds: 1, share: 1 }) {
      const { status, body: answer } = await request("POST", "/config/rehearsal", body);
      expect([status, answer.error]).toEqual([202, undefined]);
      return reached("done", "failed", "cancelled");
    },
  };
}

function configText(
  folder: string,
  url: string,
  { processors = "", use = "", top = "", tokens = "" }: ConfigParts,
): string {
  return `
${top}
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
processors: {${processors}}
exporters: {otlp_http: {endpoint: "${url}", compression: none}}
extensions:
  reliability: {directory: ${join(folder, "queue")}}
  admin: {endpoint: 127.0.0.1:0, token_file: ${join(folder, "token")}${tokens === "" ? "" : `, tokens: [${tokens}]`}}
service:
  extensions: [reliability, admin]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [${use}], exporters: [otlp_http]}}
`;
}

/** Leaves the processor to the agent and to the rehearsal, which has a low priority. */
const PAUSE_MS = 10;

/** Sends a record "a" with an address of a person, and a record "drop", again and again. */
function sendAlways(port: number): () => Promise<void> {
  let isOver = false;
  const attributes = [{ key: "mail", value: { stringValue: "ann@example.com" } }];
  const logRecords = ["a", "drop"].map((stringValue) => ({ body: { stringValue }, attributes }));
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  const headers = { "content-type": "application/json" };
  const send = async () => {
    while (!isOver) {
      await fetch(`http://127.0.0.1:${port}/v1/logs`, { method: "POST", headers, body }).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  const sending = send();
  return async () => {
    isOver = true;
    await sending;
  };
}
