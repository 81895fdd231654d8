import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Batch, batchFromJson, readRecords } from "../../src/plugin.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { bodies, logs } from "../support/telemetry/batches.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const RECORDS = 40_000;
const numbered = logs(...Array.from({ length: RECORDS }, (_, i) => `record ${i}`));
const everyBody = bodies(numbered).toSorted();

async function startBackend(): Promise<OtlpSink> {
  const sink = await startSink();
  onTestFinished(() => sink.close());
  return sink;
}

async function start(yaml: string): Promise<AgentProcess> {
  const agent = await startAgentProcess({
    yaml: `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
${yaml}`,
  });
  onTestFinished(async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
  });
  return agent;
}

const service = (rest: string, more = "") => `
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  ${more}
  pipelines: {${rest}}
`;

function post({ ports }: AgentProcess, { signal, bytes }: Batch): Promise<Response> {
  const headers = { "content-type": "application/x-protobuf" };
  return fetch(`http://127.0.0.1:${ports.http}/v1/${signal}`, { method: "POST", headers, body: Buffer.from(bytes) });
}

const received = (sink: OtlpSink) => sink.batches.flatMap((batch) => bodies(batch)).toSorted();

describe("a large request", () => {
  it("arrives once at each exporter when the queue of one was full and the client repeats it", async () => {
    const [a, b] = [await startBackend(), await startBackend()];
    b.decide(() => 503);
    const agent = await start(`
extensions: {reliability: {directory: ${temporaryFolder()}}}
exporters:
  otlp_http/a: {endpoint: "${a.url}"}
  otlp_http/b: {endpoint: "${b.url}", sending_queue: {queue_size: 3}, retry_on_failure: {initial_interval: 10ms, max_interval: 20ms}}
${service("logs: {receivers: [otlp], exporters: [otlp_http/a, otlp_http/b]}")}`);
    expect([429, 503]).toContain((await post(agent, numbered)).status);
    b.decide(() => 200);
    await expect.poll(async () => (await post(agent, numbered)).status).toBe(200);
    await expect.poll(() => [a.count, b.count]).toEqual([RECORDS, RECORDS]);
    expect(received(a)).toEqual(everyBody);
    expect(received(b)).toEqual(everyBody);
  });

  it("loses nothing when the agent is killed in the middle and the client repeats it", async () => {
    const sink = await startBackend();
    const yaml = `
extensions: {reliability: {directory: ${temporaryFolder()}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
${service("logs: {receivers: [otlp], exporters: [otlp_http]}")}`;
    const first = await start(yaml);
    const answer = post(first, numbered).then(
      ({ status }) => status,
      () => "no answer",
    );
    await expect.poll(() => sink.count).toBeGreaterThan(0);
    first.child.kill("SIGKILL");
    await first.exited;
    const second = await start(yaml);
    if ((await answer) !== 200) expect((await post(second, numbered)).status).toBe(200);
    await expect.poll(() => new Set(received(sink)).size).toBe(RECORDS);
  });

  it("is answered and delivered once when the agent is stopped in the middle", async () => {
    const sink = await startBackend();
    const yaml = `
extensions: {reliability: {directory: ${temporaryFolder()}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
${service("logs: {receivers: [otlp], exporters: [otlp_http]}", "shutdown_timeout: 60s")}`;
    const first = await start(yaml);
    const answer = post(first, numbered);
    await expect.poll(() => sink.count).toBeGreaterThan(0);
    first.child.kill("SIGTERM");
    expect((await answer).status).toBe(200);
    expect(await first.exited).toBe(0);
    await start(yaml);
    await expect.poll(() => sink.count).toBe(RECORDS);
    expect(received(sink)).toEqual(everyBody);
  });

  it("gives its memory back when its client leaves in the middle", async () => {
    const sink = await startBackend();
    const agent = await start(`
extensions: {reliability: {directory: ${temporaryFolder()}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
${service("logs: {receivers: [otlp], exporters: [otlp_http]}", "intake: {max_bytes: 2MiB}")}`);
    const path = { port: agent.ports.http, path: "/v1/logs", method: "POST" };
    const headers = { "content-type": "application/x-protobuf", "content-length": numbered.byteLength };
    const leaving = httpRequest({ ...path, headers }).on("error", () => {});
    leaving.end(Buffer.from(numbered.bytes));
    await once(leaving, "finish");
    await expect.poll(() => sink.count).toBeGreaterThan(0);
    leaving.destroy();
    await expect.poll(async () => (await post(agent, numbered)).status).toBe(200);
    await expect.poll(() => new Set(received(sink)).size).toBe(RECORDS);
  });

  it("tells its client how many records were rejected when only some slices can be taken", async () => {
    const sink = await startBackend();
    const agent = await start(`
extensions: {reliability: {directory: ${temporaryFolder()}}}
processors: {attributes: {actions: [{key: copy, from_attribute: text, action: insert}]}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
${service("logs: {receivers: [otlp], processors: [attributes], exporters: [otlp_http]}", "max_record_size: 100KiB")}`);
    const text = { key: "text", value: { stringValue: "x".repeat(90 * 1024) } };
    const logRecords = Array.from({ length: RECORDS }, (_, i) => ({
      body: { stringValue: `record ${i}` },
      attributes: i === RECORDS / 2 ? [text] : [],
    }));
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
    const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
    const answer = await fetch(url, { method: "POST", headers, body });
    expect(answer.status).toBe(200);
    const { partialSuccess } = (await answer.json()) as { partialSuccess: Record<string, string> };
    expect(partialSuccess["errorMessage"]).toContain("max_record_size");
    const rejected = Number(partialSuccess["rejectedLogRecords"]);
    expect(rejected).toBeGreaterThan(0);
    expect(rejected).toBeLessThan(RECORDS);
    await expect.poll(() => sink.count).toBe(RECORDS - rejected);
    expect(new Set(received(sink)).size).toBe(RECORDS - rejected);
    expect(received(sink)).not.toContain(`record ${RECORDS / 2}`);
  });

  it("keeps its traces together for tail_sampling", async () => {
    const sink = await startBackend();
    const agent = await start(`
extensions: {reliability: {directory: ${temporaryFolder()}}}
processors:
  tail_sampling:
    decision_wait: 1s
    policies: [{name: errors, type: status_code, status_code: {status_codes: [ERROR]}}]
exporters: {otlp_http: {endpoint: "${sink.url}"}}
${service("traces: {receivers: [otlp], processors: [tail_sampling], exporters: [otlp_http]}")}`);
    // Two spans per trace, far apart in the request; the second one has the error in every other trace.
    const traces = RECORDS / 4;
    const span = (i: number, half: number) => ({
      traceId: (i + 1).toString(16).padStart(32, "0"),
      spanId: (i * 2 + half + 1).toString(16).padStart(16, "0"),
      name: `span ${i} ${half}`,
      status: { code: half === 1 && i % 2 === 0 ? 2 : 0 },
    });
    const spans = [0, 1].flatMap((half) => Array.from({ length: traces }, (_, i) => span(i, half)));
    const batch = batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    expect((await post(agent, batch)).status).toBe(200);
    const wanted = spans.map(({ name }) => name).filter((name) => Number(name.split(" ")[1]) % 2 === 0);
    await expect.poll(() => sink.count).toBe(wanted.length);
    expect(sink.batches.flatMap(namesOf).toSorted()).toEqual(wanted.toSorted());
  });

  it("is refused for good if a record has one value too many, and not with one less", async () => {
    const sink = await startBackend();
    const agent = await start(`
extensions: {reliability: {directory: ${temporaryFolder()}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
${service("logs: {receivers: [otlp], exporters: [otlp_http]}")}`);
    const withValues = (count: number) => {
      const attributes = Array.from({ length: count }, (_, i) => ({ key: `k${i}`, value: { intValue: "1" } }));
      const logRecords = [{ body: { stringValue: "a" }, attributes }, { body: { stringValue: "b" } }];
      return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    };
    expect((await post(agent, withValues(10_001))).status).toBe(400);
    expect((await post(agent, withValues(10_000))).status).toBe(200);
    await expect.poll(() => received(sink)).toEqual(["a", "b"]);
  });
});

function namesOf(batch: Batch): string[] {
  const names: string[] = [];
  readRecords(batch, (record) => void (record.signal === "traces" && names.push(record.name)));
  return names;
}
