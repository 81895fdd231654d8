import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readSample } from "../../../../src/agent/rehearsal/sample-file.js";
import { batchToJson } from "../../../../src/plugin.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { sluice } from "../dlq/support.js";

let sink: OtlpSink;
let agent: AgentProcess;
let api: string[];

beforeAll(async () => {
  sink = await startSink();
  agent = await startAgentProcess({
    yaml: `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
processors: {filter: {error_mode: ignore, logs: {log_record: ['body == "drop"']}}}
exporters: {otlp_http: {endpoint: "${sink.url}", compression: none, headers: {api-key: s3cret-9f8e7d6c}}}
extensions: {reliability: {directory: queue}, admin: {endpoint: 127.0.0.1:0}}
service:
  extensions: [reliability, admin]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [filter], exporters: [otlp_http]}}
`,
  });
  const [, endpoint] = /"endpoint":"([^"]+)","msg":"admin API is listening"/.exec(agent.output.stderr)!;
  api = ["--api", `http://${endpoint}`];
});

afterAll(async () => {
  agent.child.kill("SIGKILL");
  await agent.exited;
  await sink.close();
});

/** Sends a record twenty times a second until the work is done. */
async function whileSending<T>(body: string, work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  const json = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: body } }] }] }] });
  const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
  while (!isDone) {
    await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: json });
    await pause(50);
  }
  return done;
}

describe("sluice top", () => {
  it("prints pipelines and exporters once", async () => {
    const { code, out } = await whileSending("a", sluice(["top", "--once", ...api]));
    expect(code).toBe(0);
    expect(out).toMatch(
      /^sluice \S+ at http:\S+: ready, up \d+(?:ms|s|m), [\d:]+\n[\d.k]+\/s in, [\d.k]+\/s sent, 0\/s refused; 1 of 1 exporter UP/,
    );
    expect(out).toMatch(/^PIPELINE +IN\/s +OUT\/s +DROPPED\/s +REFUSED\/s +FAILED\/s\nlogs +[1-9]/m);
    expect(out).toMatch(
      /^EXPORTER +STATE +BREAKER +IN\/s +SENT\/s +QUEUE +BYTES +OLDEST +DEAD\notlp_http +UP +closed/m,
    );
  });

  it("prints what the API says as JSON", async () => {
    const { out } = await sluice(["top", "--once", "--json", ...api]);
    expect(JSON.parse(out)).toMatchObject({
      nodes: { "exporter:otlp_http": {} },
      exporters: { otlp_http: { state: "UP" } },
    });
  });
});

describe("sluice tap", () => {
  it("shows records as they pass, masked and printable, and ends at the limit", async () => {
    const { code, out } = await whileSending(
      "ann@example.com \u2028\u001b[2J",
      sluice(["tap", "filter", "--limit", "1", ...api]),
    );
    expect([code, out]).toEqual([0, expect.stringMatching(/^\d\d:\d\d:\d\d {2}.* \\u2028\\u001b\[2J\n$/)]);
    expect(out).not.toContain("ann@");
  });

  it("shows them as JSON, and only those for which a condition holds", async () => {
    const args = ["tap", "logs", "--where", 'body == "b"', "--limit", "2", "--json", ...api];
    const { out } = await whileSending("b", sluice(args));
    const records = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records).toMatchObject([{ record: { body: { stringValue: "b" } } }, { signal: "logs" }]);
  });

  it("records a sample of what receivers hand in, unmasked, in a file that only its owner can read", async () => {
    const file = join(temporaryFolder(), "traffic.sample");
    const args = ["tap", "--record", file, "--for", "1s", "--why", "a test", ...api];
    const { code, err } = await whileSending("ann@example.com", sluice(args));
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^Recording to .*\nRecorded \d+ batch.* unmasked: keep it private\.\n$/),
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { batches, damage } = readSample(readFileSync(file));
    expect([batches[0]?.receiver, batches[0]?.batch.count, damage]).toEqual(["otlp", 1, undefined]);
    expect(batchToJson(batches[0]!.batch)).toContain("ann@example.com");
    expect(await sluice(args)).toMatchObject({ code: 1, err: expect.stringContaining("EEXIST") });
  });

  it("records nothing without a reason", async () => {
    expect(await sluice(["tap", "--record", "nosuch.sample", ...api])).toMatchObject({
      code: 2,
      err: expect.stringContaining("needs a reason"),
    });
    expect(existsSync("nosuch.sample")).toBe(false);
  });

  it("says what is wrong", async () => {
    expect(await sluice(["tap", ...api])).toMatchObject({
      code: 2,
      err: expect.stringContaining("expected one component"),
    });
    expect(await sluice(["tap", "nosuch", ...api])).toMatchObject({
      code: 1,
      err: expect.stringContaining("there is no"),
    });
    expect(await sluice(["tap", "logs", "--where", "nosuch(", ...api])).toMatchObject({ code: 2 });
  });
});

describe("the config of a node of a started agent", () => {
  it("has its defaults and no secrets", async () => {
    const headers = { authorization: `Bearer ${await adminToken(api[1]!)}` };
    const response = await fetch(`${api[1]}/api/v1/graph/nodes/exporter%3Aotlp_http/config`, { headers });
    const { yaml, json } = (await response.json()) as { yaml: string; json: Record<string, unknown> };
    expect(json).toMatchObject({ endpoint: sink.url, timeout: expect.anything() });
    expect(yaml).toContain("[REDACTED]");
    expect(yaml).not.toContain("s3cret");
  });
});
