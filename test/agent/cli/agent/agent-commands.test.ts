import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentProcess, startAgentProcess } from "../../../support/agent-process.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { sluice } from "../dlq/support.js";

let sink: OtlpSink;
let slow: OtlpSink;
let agent: AgentProcess;
let api: string[];

beforeAll(async () => {
  sink = await startSink();
  slow = await startSink();
  agent = await startAgentProcess({
    yaml: `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
exporters:
  otlp_http/a: {endpoint: "${sink.url}", compression: none, retry_on_failure: {initial_interval: 100ms, max_interval: 200ms}}
  otlp_http/slow: {endpoint: "${slow.url}", compression: none, retry_on_failure: {initial_interval: 1h, max_interval: 1h}}
extensions: {reliability: {directory: queue}, admin: {endpoint: 127.0.0.1:0}}
service:
  extensions: [reliability, admin]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http/a, otlp_http/slow]}}
`,
  });
  const [, endpoint] = /"endpoint":"([^"]+)","msg":"admin API is listening"/.exec(agent.output.stderr)!;
  api = ["--api", `http://${endpoint}`];
});

afterAll(async () => {
  agent.child.kill("SIGKILL");
  await agent.exited;
  await sink.close();
  await slow.close();
});

/** Every command that asks the agent costs both of them more than the wait. */
const SELDOM = { interval: 200 };

const status = (...args: string[]) => sluice(["status", ...args, ...api]);
const exporter = (...args: string[]) => sluice(["exporter", ...args, ...api]);

async function send(): Promise<void> {
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "x" } }] }] }] });
  const headers = { "content-type": "application/json" };
  const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
  expect((await fetch(url, { method: "POST", headers, body })).status).toBe(200);
}

describe("status", () => {
  it("has no share of failed sends for an exporter that has sent nothing", async () => {
    expect((await status()).out).toMatch(/^otlp_http\/a +UP +closed +0 +0 B +- +0 +- +-$/m);
  });

  it("shows how every exporter is, and exits with 0 when all are UP and that is asked", async () => {
    await send();
    await expect.poll(() => sink.count).toBe(1);
    const { code, out } = await status("--check");
    expect([code, out]).toEqual([0, expect.stringMatching(/^The agent at http:\S+: 2 of 2 exporters UP, /)]);
    expect(out).toMatch(/^EXPORTER +STATE +BREAKER +QUEUE +BYTES +OLDEST +DEAD +LAST SENT +FAILS$/m);
    expect(out).toMatch(/^otlp_http\/a +UP +closed +0 +0 B +- +0 +(just now|\d+s ago) +0 %$/m);
  });

  it("says in JSON what the API says", async () => {
    const { exporters } = JSON.parse((await status("--json")).out);
    expect(exporters.map(({ id, state }: { id: string; state: string }) => [id, state])).toEqual([
      ["otlp_http/a", "UP"],
      ["otlp_http/slow", "UP"],
    ]);
  });

  it("tells why an exporter is not well and what to do, and exits with 1 if asked", async () => {
    sink.decide(() => 401);
    await send();
    await expect.poll(async () => (await status("--check")).code, SELDOM).toBe(1);
    const { code, out } = await status();
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^otlp_http\/a: refuses all logs since .*HTTP 401.*credentials/m),
    ]);
    sink.decide(() => 200);
    await expect.poll(async () => (await status("--check")).code, SELDOM).toBe(0);
  });

  it("says where it looked when no agent answers", async () => {
    const { code, err } = await sluice(["status", "--api", "http://127.0.0.1:1"]);
    expect([code, err]).toEqual([1, expect.stringContaining("no agent answers at http://127.0.0.1:1")]);
  });
});

describe("exporter", () => {
  it("pauses, which status shows, and resumes", async () => {
    const before = sink.count;
    expect(await exporter("pause", "otlp_http/a")).toMatchObject({
      code: 0,
      out: expect.stringContaining("is paused"),
    });
    await send();
    expect((await status()).out).toContain("otlp_http/a: paused by an operator; sluice exporter resume otlp_http/a");
    expect(sink.count).toBe(before);
    expect(await exporter("resume", "otlp_http/a")).toMatchObject({
      code: 0,
      out: "otlp_http/a is resumed and sends its queue.\n",
    });
    await expect.poll(() => sink.count).toBe(before + 1);
  });

  it("lets nothing wait for its retry", async () => {
    const before = slow.count;
    slow.decide(() => 503);
    await send();
    await expect.poll(async () => (await status()).out).toMatch(/^otlp_http\/slow .* [1-9]\d* %$/m);
    const waiting =
      /otlp_http\/slow: 1 entry waits for its retry, the next is due in \d+m; sluice exporter retry otlp_http\/slow/;
    await expect.poll(async () => (await status()).out).toMatch(waiting);
    slow.decide(() => 200);
    expect((await exporter("retry", "otlp_http/slow")).code).toBe(0);
    await expect.poll(() => slow.count).toBe(before + 1);
  });

  it("holds the circuit breaker and makes it automatic again", async () => {
    const opened = await exporter("breaker", "otlp_http/a", "open");
    expect(opened).toMatchObject({ code: 0, out: expect.stringContaining("is held open; sluice exporter breaker") });
    expect((await status()).out).toMatch(/^otlp_http\/a +DOWN +open \(forced\)/m);
    const auto = JSON.parse((await exporter("breaker", "otlp_http/a", "auto", "--json")).out);
    expect(auto).toMatchObject({ id: "otlp_http/a", breaker: { forced: false } });
  });

  it.each([
    ["pause", "nobody"],
    ["breaker", "nobody", "open"],
  ])("says that there is no such exporter: %s %s", async (...args) => {
    expect(await exporter(...args)).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no exporter "nobody"; there are: otlp_http/a'),
    });
  });

  it.each([[["pause"]], [["pause", "a", "b"]], [["breaker", "a"]], [["breaker", "a", "ajar"]]])(
    "takes only what it says in its help: %s",
    async (args) => {
      expect(await exporter(...args)).toMatchObject({ code: 2, err: expect.stringContaining("expected the id") });
    },
  );
});
