import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { bodies } from "../support/telemetry/batches.js";

const TOKEN = "token-of-the-operator";
const RECORDS = 24;
const PATIENCE = { timeout: 30_000, interval: 50 };
const mailOf = (n: number) => `ann${n}@example.com`;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** An agent with a dead letter for each record, whose backend is well again; and another exporter, behind `pii`. */
async function withDeadLetters() {
  const directory = mkdtempSync(join(tmpdir(), "sluice-operate-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const [own, other] = [await startSink(), await startSink()];
  cleanups.push(
    () => own.close(),
    () => other.close(),
  );
  own.decide(() => 400);
  const port = await freePort();
  const yaml = `
receivers:
  otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}
  otlp/side: {protocols: {grpc: {endpoint: "127.0.0.1:0"}}}
processors: {pii: {}}
exporters:
  otlp_http/own: {endpoint: "${own.url}", durability: process}
  otlp_http/other: {endpoint: "${other.url}", durability: process}
extensions:
  reliability: {directory: ${directory}}
  admin:
    endpoint: "127.0.0.1:${port}"
    tokens: [{name: operator, token: ${TOKEN}, roles: [view, reveal, replay]}]
service:
  extensions: [reliability, admin]
  telemetry: {metrics: {level: none}}
  pipelines:
    logs: {receivers: [otlp], exporters: [otlp_http/own]}
    logs/side: {receivers: [otlp/side], processors: [pii], exporters: [otlp_http/other]}
`;
  let agent: AgentProcess = await startAgentProcess({ yaml });
  const end = async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
  };
  cleanups.push(end);
  for (let n = 0; n < RECORDS; n++) await sendLog(agent.ports.http, `record ${n} of ${mailOf(n)}`);
  const api = (path: string, body?: unknown) => askApi(port, path, body);
  const ids = async (): Promise<string[]> =>
    (await api("/dead-letters?limit=100")).entries.map(({ id }: { id: string }) => id);
  await expect.poll(async () => (await ids()).length, PATIENCE).toBe(RECORDS);
  own.decide(() => 200);
  return {
    own,
    other,
    api,
    ids,
    async killAndRestart() {
      await end();
      agent = await startAgentProcess({ yaml });
    },
    async stopAndRestart() {
      agent.child.kill("SIGTERM");
      expect(await agent.exited).toBe(0);
      agent = await startAgentProcess({ yaml });
    },
  };
}

async function sendLog(port: number, body: string): Promise<void> {
  const logRecords = [{ timeUnixNano: "1", body: { stringValue: body } }];
  const response = await fetch(`http://127.0.0.1:${port}/v1/logs`, {
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

/** The texts that came for each record, each once: a call whose answer was lost is made again. */
function arrived(sink: OtlpSink): Map<number, Set<string>> {
  const found = new Map<number, Set<string>>();
  for (const text of sink.batches.flatMap((batch) => bodies(batch).map(String))) {
    const n = Number(/record (\d+)/.exec(text)![1]);
    found.set(n, (found.get(n) ?? new Set()).add(text));
  }
  return found;
}

type Operated = Awaited<ReturnType<typeof withDeadLetters>>;

/** Replays what is left, as often as it takes, until every record has come. */
async function replayUntilAllCame({ api, ids }: Operated, sink: OtlpSink, how: object): Promise<void> {
  const replay = { by: "ann", rate: 10_000, approved: true, ...how };
  await expect
    .poll(async () => {
      const left = await ids();
      if (left.length > 0) await api("/dead-letters/replay", { ids: left, ...replay });
      return arrived(sink).size;
    }, PATIENCE)
    .toBe(RECORDS);
}

describe("an agent that is killed", () => {
  it("while dead letters are edited delivers each as it was or as it became, and what was saved as that", async () => {
    const operated = await withDeadLetters();
    const { api, ids, own, killAndRestart } = operated;
    const saved = new Set<number>();
    const edit = async (id: string) => {
      const { payload } = await api(`/dead-letters/${id}/reveal`, { reason: "test" });
      const text = JSON.stringify(payload);
      const changed = text.replace(/record (\d+)/, "edited record $1");
      await api(`/dead-letters/${id}/edit`, { by: "ann", reason: "test", revision: 0, payload: changed });
      saved.add(Number(/record (\d+)/.exec(text)![1]));
    };
    const edits = (await ids()).map((id) => edit(id).catch(() => {}));
    await expect.poll(() => saved.size, { ...PATIENCE, interval: 1 }).toBeGreaterThan(0);
    await killAndRestart();
    await Promise.all(edits);
    await replayUntilAllCame(operated, own, {});
    for (const [n, texts] of arrived(own)) {
      const [text, ...others] = texts;
      expect([n, others]).toEqual([n, []]);
      if (saved.has(n)) expect(text).toContain(`edited record ${n}`);
    }
  }, 120_000);

  it("while they are changed by a statement and replayed delivers none as it was", async () => {
    const operated = await withDeadLetters();
    const { api, own, killAndRestart } = operated;
    const transform = ['set(log.body, Concat(["changed", log.body], " "))'];
    const replay = api("/dead-letters/replay", { all: true, by: "ann", rate: 10_000, transform }).catch(() => {});
    await expect.poll(() => own.count, { ...PATIENCE, interval: 1 }).toBeGreaterThan(0);
    await killAndRestart();
    await replay;
    await replayUntilAllCame(operated, own, { transform });
    for (const [n, texts] of arrived(own)) expect([...texts]).toEqual([`changed record ${n} of ${mailOf(n)}`]);
  }, 120_000);

  it("while they are replayed to another exporter delivers all there, through its processors, and none twice over", async () => {
    const operated = await withDeadLetters();
    const { api, own, other, killAndRestart } = operated;
    const to = "otlp_http/other";
    const replay = api("/dead-letters/replay", { all: true, by: "ann", rate: 10_000, to }).catch(() => {});
    await expect.poll(() => other.count, { ...PATIENCE, interval: 1 }).toBeGreaterThan(0);
    await killAndRestart();
    await replay;
    await replayUntilAllCame(operated, other, { to });
    expect(own.count).toBe(0);
    for (const [n, texts] of arrived(other)) {
      expect([...texts]).toHaveLength(1);
      expect([...texts].join()).not.toContain(mailOf(n));
    }
  }, 120_000);
});

describe("an agent that is stopped", () => {
  it("while dead letters are replayed has each as a dead letter or has delivered it once, and says how far it came", async () => {
    const operated = await withDeadLetters();
    const { api, ids, own, stopAndRestart } = operated;
    const job = await api("/dead-letters/replay", { all: true, by: "ann", rate: 5 });
    await expect.poll(() => own.count, { ...PATIENCE, interval: 1 }).toBeGreaterThan(6);
    await stopAndRestart();
    await expect.poll(async () => own.count + (await ids()).length, PATIENCE).toBe(RECORDS);
    const left = (await ids()).length;
    expect(left).toBeGreaterThan(0);
    const report = await api(`/replays/${job.id}`);
    expect(report).toMatchObject({ queued: RECORDS - left, delivered: RECORDS - left, pending: 0 });
    expect(["failed", "cancelled"]).toContain(report.state);
    await replayUntilAllCame(operated, own, {});
    expect(own.count).toBe(RECORDS);
  }, 120_000);
});
