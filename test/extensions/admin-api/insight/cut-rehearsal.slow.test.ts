import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sluice } from "../../../agent/cli/dlq/support.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";
import { undescribed } from "../openapi-document.js";

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
type Answer = any;

const VIEWER = "token-of-a-viewer-in-tests";
const CUT = "action=drop&by=service&name=noisy&signal=logs";
const HOSTILE = ["$", "{env:SLUICE_TEST_SECRET} $HOME $"].join("");
let folder: string;
let agent: AgentProcess;
let url: string;
let token: string;
let stopSending: () => Promise<void>;

/** Three of four records are of the service noisy. */
const BODY = JSON.stringify({
  resourceLogs: [
    ["noisy", 3],
    ["quiet", 1],
  ].map(([name, count]) => ({
    resource: { attributes: [{ key: "service.name", value: { stringValue: name } }] },
    scopeLogs: [{ logRecords: Array.from({ length: Number(count) }, () => ({ body: { stringValue: "line" } })) }],
  })),
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-cut-"));
  const file = join(folder, "agent.yaml");
  writeFileSync(
    file,
    `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
exporters: {nop: , nop/free: }
extensions:
  reliability: {directory: ${join(folder, "queue")}}
  admin: {endpoint: 127.0.0.1:0, tokens: [{name: vera, token: ${VIEWER}, roles: [view]}], token_file: ${join(folder, "token")}}
  insight: {sampling_ratio: 1, price: {nop: {per_gb: 1000000, per_million_records: 1000}}}
service:
  extensions: [reliability, admin, insight]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [nop, nop/free]}}
`,
  );
  agent = await startAgentProcess({ file }, { env: { SLUICE_TEST_SECRET: "hidden-from-traffic" } });
  const [, endpoint] = /"endpoint":"([^"]+)","msg":"admin API is listening"/.exec(agent.output.stderr)!;
  url = `http://${endpoint}`;
  token = await adminToken(url);
  let isOver = false;
  const sending = (async () => {
    while (!isOver) {
      await send().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  stopSending = async () => {
    isOver = true;
    await sending;
  };
});

afterAll(async () => {
  await stopSending?.();
  agent?.child.kill("SIGKILL");
  await agent?.exited;
  rmSync(folder, { recursive: true, force: true });
});

function send(): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  return fetch(`http://127.0.0.1:${agent.ports.http}/v1/logs`, { method: "POST", headers, body: BODY });
}

async function request(method: string, path: string, body?: object, as = token): Promise<Answer> {
  const headers = { authorization: `Bearer ${as}`, "content-type": "application/json" };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`${url}/api/v1${path}`, init);
  return { status: response.status, body: await response.json() };
}

async function ended(): Promise<Answer> {
  let answer: Answer;
  await expect
    .poll(async () => {
      answer = (await request("GET", "/insight/cut/rehearsal")).body;
      return answer.rehearsal?.state;
    })
    .toSatisfy((state) => ["done", "failed", "cancelled"].includes(state));
  return answer;
}

describe("the rehearsal of a cut", () => {
  it("measures on live traffic what the cut saves per day, and applies nothing", async () => {
    const before = (await request("GET", "/config")).body;
    const started = await request("POST", `/insight/cut/rehearsal?${CUT}`, { seconds: 1, share: 1 });
    expect([started.status, started.body.error]).toEqual([202, undefined]);
    const { rehearsal: first } = started.body;
    expect(first).toMatchObject({ state: "sampling", change: "drop service noisy" });
    const answer = await ended();
    expect(undescribed(answer, "InsightCutRehearsal")).toEqual([]);
    const { measured, rehearsal } = answer;
    expect([rehearsal.state, rehearsal.error]).toEqual(["done", undefined]);
    expect(measured.before.records).toBe(2 * rehearsal.sample.records);
    expect(measured.after.records).toBe(measured.before.records / 4);
    const { body: exporters } = await request("GET", "/insight?by=exporter");
    const { body: now } = await request("GET", "/insight/cut/rehearsal");
    const perDay = 86_400_000 / (Date.parse(exporters.to) - Date.parse(exporters.from));
    // Traffic goes on between the two requests.
    const ratio = now.measured.records / (exporters.total.records * 0.75 * perDay);
    expect(ratio).toBeGreaterThan(0.5);
    expect(ratio).toBeLessThan(2);
    expect(now.measured.share).toBeCloseTo(1 - measured.after.bytes / measured.before.bytes);
    // Only one of the two exporters has a price.
    const { records, bytes, costPerDay } = now.measured;
    expect(costPerDay / ((bytes / 2 / 1e9) * 1e6 + (records / 2 / 1e6) * 1e3)).toBeCloseTo(1, 5);
    expect((await request("GET", "/config")).body).toEqual(before);
    const { body: cut } = await request("GET", `/insight/cut?${CUT}`);
    expect(cut.saves.bytes / bytes).toBeGreaterThan(0.5);
    expect(cut.saves.bytes / bytes).toBeLessThan(2);
  });

  it("ends at a number of records", async () => {
    await request("POST", `/insight/cut/rehearsal?${CUT}`, { seconds: 600, share: 1, max_records: 40 });
    const { rehearsal } = await ended();
    expect([rehearsal.state, rehearsal.sample.records]).toEqual(["done", 40]);
  });

  it("can be cancelled, and only one runs at a time", async () => {
    const body = { seconds: 600, share: 1 };
    expect((await request("POST", `/insight/cut/rehearsal?${CUT}`, body)).status).toBe(202);
    expect((await request("POST", `/insight/cut/rehearsal?${CUT}`, body)).status).toBe(409);
    const cancelled = await request("DELETE", "/insight/cut/rehearsal");
    expect(cancelled.body).toMatchObject({ rehearsal: { state: "cancelled" }, measured: null });
  });

  it("leaves a rehearsal of the files alone", async () => {
    await request("POST", "/config/rehearsal", { seconds: 600, share: 1 });
    expect((await request("DELETE", "/insight/cut/rehearsal")).body).toEqual({ rehearsal: null, measured: null });
    expect((await request("GET", "/config/rehearsal")).body.rehearsal.state).toBe("sampling");
    await request("DELETE", "/config/rehearsal");
  });

  it("needs the role configure, and says so", async () => {
    const { status, body } = await request("POST", `/insight/cut/rehearsal?${CUT}`, { seconds: 1 }, VIEWER);
    expect([status, body.error.message]).toEqual([403, expect.stringContaining("configure")]);
    expect((await request("DELETE", "/insight/cut/rehearsal", undefined, VIEWER)).status).toBe(403);
    expect((await request("GET", "/insight/cut/rehearsal", undefined, VIEWER)).status).toBe(200);
  });

  it("rejects a cut that cannot be made, and limits that are too high", async () => {
    const bad = await request("POST", "/insight/cut/rehearsal?action=sample&by=metric&name=x&signal=metrics", {});
    expect([bad.status, bad.body.error.message]).toEqual([400, expect.stringContaining("cannot be sampled")]);
    expect((await request("POST", `/insight/cut/rehearsal?${CUT}`, { seconds: 4000 })).status).toBe(400);
    expect((await request("POST", `/insight/cut/rehearsal?${CUT}`, { max_records: 1e9 })).status).toBe(400);
    const none = await request("POST", "/insight/cut/rehearsal?action=drop&by=span&name=x&signal=traces", {});
    expect([none.status, none.body.error.message]).toEqual([400, expect.stringContaining("no pipeline")]);
  });

  it("takes dollars in names literally, so that they read no variables and no files", async () => {
    const query = new URLSearchParams({ action: "drop", by: "service", name: HOSTILE, signal: "logs" });
    const { body: cut } = await request("GET", `/insight/cut?${query}`);
    expect(cut.yaml).toContain(HOSTILE.replaceAll("$", "$$$$"));
    await request("POST", `/insight/cut/rehearsal?${query}`, { seconds: 1, share: 1 });
    const { rehearsal } = await ended();
    expect([rehearsal.state, rehearsal.problems]).toEqual(["done", []]);
  });
});

describe("sluice insight cut --rehearse", () => {
  const args = ["insight", "cut", "drop", "--by", "service", "--name", "noisy", "--signal", "logs"];
  const rehearse = () => [...args, "--rehearse", "--for", "1s", "--sample-rate", "100%", "--api", url];

  it("shows the measured saving after the diff and the estimate", async () => {
    const { code, out, err } = await sluice(rehearse());
    expect([code, err]).toEqual([0, expect.any(String)]);
    expect(out).toMatch(/^\+ .*filter\/cut_noisy/m);
    expect(out).toMatch(/^Estimate: saves about [\d,]+ records and .* per day .*\.$/m);
    expect(out).toMatch(
      /^Measured: saves [\d,]+ records and [\d.]+ \w+ per day \(\d+% of all bytes at exporters\), [\d,.]+\.$/m,
    );
    expect(out).toMatch(/^The sample has \d+ records\. Exporters get [\d,]+ → [\d,]+ records/m);
  });

  it("says the same in JSON", async () => {
    const { code, out } = await sluice([...rehearse(), "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      action: "drop",
      saves: { records: expect.any(Number) },
      rehearsal: { state: "done" },
      measured: { records: expect.any(Number), costPerDay: expect.any(Number) },
    });
  });

  it("rejects options of a rehearsal without one", async () => {
    const rejected = await sluice([...args, "--for", "1s", "--api", url]);
    expect(rejected).toMatchObject({ code: 2, err: expect.stringContaining("--for needs --rehearse") });
  });
});
