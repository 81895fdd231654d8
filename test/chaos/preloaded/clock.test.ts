import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { type AgentProcess, startAgentProcess } from "../../support/agent-process.js";
import { startSink } from "../../support/otlp-sink.js";
import { bodies } from "../../support/telemetry/batches.js";

const TOKEN = "token-of-the-operator";
const YEAR = 365 * 86_400_000;
const SHIFTED = new URL("shifted-clock.mjs", import.meta.url).href;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Jumps of the wall clock, in milliseconds ahead of the true time. */
const JUMPS = [0, YEAR, -YEAR, 10 * YEAR, 0, 60_000, -10 * YEAR, 0];

it("loses no entry and no dead letter when the clock jumps back and forth, also while it is down", async () => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-clock-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const sink = await startSink();
  cleanups.push(() => sink.close());
  const port = await freePort();
  const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters:
  otlp_http:
    endpoint: "${sink.url}"
    durability: process
    sending_queue: {max_age: 1h}
    dead_letter: {retention: 1h}
    retry_on_failure: {initial_interval: 50ms, max_interval: 200ms, max_retries: 2}
    circuit_breaker: {reset_timeout: 100ms}
extensions:
  reliability: {directory: ${join(directory, "queues")}}
  admin:
    endpoint: "127.0.0.1:${port}"
    tokens: [{name: operator, token: ${TOKEN}, roles: [view, reveal, replay]}]
service:
  extensions: [reliability, admin]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}
`;
  const clockFile = join(directory, "clock");
  writeFileSync(clockFile, "0");
  const start = async () => {
    const agent = await startAgentProcess(
      { yaml },
      { env: { NODE_OPTIONS: `--import ${SHIFTED}`, CLOCK_FILE: clockFile } },
    );
    cleanups.push(async () => {
      agent.child.kill("SIGKILL");
      await agent.exited;
    });
    return agent;
  };
  const api = (path: string, body?: unknown) => askApi(port, path, body);
  const deadIds = async (): Promise<string[]> =>
    (await api("/dead-letters?limit=100")).entries.map(({ id }: { id: string }) => id);

  let agent = await start();
  const sent: string[] = [];
  for (const [i, jump] of JUMPS.entries()) {
    writeFileSync(clockFile, String(jump));
    // Each answer in turn: refused for good, down, taken. The agent is stopped in the middle of those that wait.
    sink.decide(() => [400, 503, 200][i % 3]);
    const before = sink.requests.length;
    for (let n = 0; n < 3; n++) {
      const text = `jump ${i} record ${n}`;
      await sendLog(agent, text);
      sent.push(text);
    }
    await expect.poll(() => sink.requests.length).toBeGreaterThan(before);
    if (i % 3 !== 1) continue;
    agent.child.kill(i % 2 === 0 ? "SIGTERM" : "SIGKILL");
    await agent.exited;
    agent = await start();
    // The dead letters of the first round are a year too old by this clock.
    if (jump === YEAR) await expect.poll(() => agent.output.stderr).toContain("the clock has jumped forward");
  }
  sink.decide(() => 200);
  const arrived = () => new Set(sink.batches.flatMap((batch) => bodies(batch).map(String)));
  await expect
    .poll(async () => {
      const ids = await deadIds();
      if (ids.length > 0) await api("/dead-letters/replay", { ids, by: "ann", rate: 1000, approved: true });
      return sent.filter((text) => !arrived().has(text));
    })
    .toEqual([]);
  expect(agent.output.stderr).not.toContain("removed permanently");
}, 120_000);

async function sendLog({ ports }: AgentProcess, text: string): Promise<void> {
  const logRecords = [{ timeUnixNano: "1", body: { stringValue: text } }];
  const response = await fetch(`http://127.0.0.1:${ports.http}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  });
  expect(response.status).toBe(200);
}

async function askApi(port: number, path: string, body?: unknown) {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, init);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  const answer = (await response.json()) as any;
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}
