import { gzipSync } from "node:zlib";
import { credentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GrpcJsClient } from "../receivers/otlp/grpc-client.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";

/** Small requests that unpack to many small values. Each value would be an object of many bytes if it were built. */
describe("an agent with little memory", () => {
  let agent: AgentProcess;

  beforeAll(async () => {
    const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
processors: {memory_limiter: {check_interval: 1s, limit_mib: 400}}
exporters: {nop: {}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [memory_limiter], exporters: [nop]}}
`;
    agent = await startAgentProcess({ yaml }, { env: { NODE_OPTIONS: "--max-old-space-size=96" } });
  });

  afterAll(async () => {
    agent.child.kill("SIGTERM");
    await agent.exited;
  });

  async function post(contentType: string, body: Buffer): Promise<number> {
    const headers = { "Content-Type": contentType, "Content-Encoding": "gzip" };
    const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
    const answer = await fetch(url, { method: "POST", headers, body: new Uint8Array(gzipSync(body)) });
    await answer.text();
    return answer.status;
  }

  const repeated = (before: string, part: string, times: number, after: string) =>
    Buffer.concat([Buffer.from(before), Buffer.alloc(part.length * times, part), Buffer.from(after)]);

  it.each([
    ["millions of unknown objects", () => repeated('{"x":[{}', ',{"34":0}', 2_000_000, "]}"), 200],
    ["unknown members of many names", () => repeated("{", '"a":1,', 3_000_000, '"b":2}'), 200],
    ["lists in lists", () => repeated('{"x":', "[", 8_000_000, ""), 400],
    [
      "millions of empty records",
      () => repeated('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}', ",{}", 5_000_000, "]}]}]}"),
      400,
    ],
    [
      "one singular member over and over",
      () => repeated('{"resourceLogs":[{"resource":{}', ',"resource":{}', 1_000_000, "}]}"),
      400,
    ],
  ])("lives on when it is sent %s in JSON", async (_, body, status) => {
    expect(await post("application/json", body())).toBe(status);
    expect(await post("application/json", Buffer.from("{}"))).toBe(200);
  });

  it.each([
    ["one singular field over and over", 1_000_000, 10, 200],
    ["more elements than a request may hold", 5_000_000, 10, 400],
  ])("lives on when it is sent %s in protobuf", async (_, times, tag, status) => {
    const request = field(1, Buffer.alloc(2 * times, Buffer.from([tag, 0])));
    expect(await post("application/x-protobuf", request)).toBe(status);
    expect(await post("application/json", Buffer.from("{}"))).toBe(200);
  });
});

/** Each of these would make an object, a line or a key of every element. */
describe("an agent whose components look at everything", () => {
  let agent: AgentProcess;

  beforeAll(async () => {
    const yaml = `
receivers:
  otlp: {protocols: {http: {endpoint: 127.0.0.1:0}, grpc: {endpoint: 127.0.0.1:0}}}
processors:
  memory_limiter: {check_interval: 1s, limit_mib: 1000}
  transform: {log_statements: ['set(log.attributes["a"], "b")', 'flatten(log.attributes)']}
  groupbyattrs: {keys: [a]}
  pii: {}
  batch: {}
exporters: {debug: {verbosity: detailed, output_paths: [/dev/null]}}
service:
  intake: {max_record_values: 0}
  telemetry: {metrics: {level: none}}
  pipelines:
    logs: {receivers: [otlp], processors: [memory_limiter, transform, groupbyattrs, pii, batch], exporters: [debug]}
`;
    agent = await startAgentProcess({ yaml }, { env: { NODE_OPTIONS: "--max-old-space-size=512" } });
  });

  afterAll(async () => {
    agent.child.kill("SIGTERM");
    await agent.exited;
  });

  const elements = (tag: number, count: number) => Buffer.alloc(2 * count, Buffer.from([tag, 0]));
  const shapes: readonly (readonly [string, (count: number) => Buffer])[] = [
    ["records", (count) => field(1, field(2, elements(18, count)))],
    ["attributes of a record", (count) => field(1, field(2, field(2, elements(50, count))))],
    [
      "attributes of a resource",
      (count) => field(1, Buffer.concat([field(1, elements(10, count)), field(2, elements(18, 1))])),
    ],
    ["values in a body", (count) => field(1, field(2, field(2, field(5, field(5, elements(10, count))))))],
    ["resources", (count) => Buffer.alloc((6 * count) / 3, Buffer.from([10, 4, 18, 2, 18, 0]))],
  ];

  it.each(shapes)("takes as many %s as a request may hold, refuses more, and serves on", async (_, request) => {
    const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
    const headers = { "Content-Type": "application/x-protobuf", "Content-Encoding": "gzip" };
    const post = async (count: number) => {
      const answer = await fetch(url, { method: "POST", headers, body: new Uint8Array(gzipSync(request(count))) });
      await answer.arrayBuffer();
      return answer.status;
    };
    expect(await post(9_000_000)).toBe(400);
    expect(await post(1_200_000)).toBe(200);
    expect(await post(3)).toBe(200);
  });

  it("refuses over gRPC what holds more than its smaller messages may", async () => {
    const client = new GrpcJsClient(agent.ports.grpc, credentials.createInsecure());
    const { code, details } = await client.export("logs", shapes[0]![1](2_000_000));
    expect([code, details]).toEqual([3, expect.stringContaining("too many records, attributes")]);
    expect((await client.export("logs", shapes[0]![1](3))).code).toBe(0);
    client.close();
  });
});

function field(number: number, content: Buffer): Buffer {
  const length: number[] = [];
  let rest = content.length;
  while (rest > 127) {
    length.push((rest & 127) | 128);
    rest >>>= 7;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length, rest]), content]);
}
