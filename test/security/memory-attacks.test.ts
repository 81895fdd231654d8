import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";

/** Small requests that unpack to many small things, each of which would be an object of many bytes if it were built. */
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
      200,
    ],
    [
      "one singular member over and over",
      () => repeated('{"resourceLogs":[{"resource":{}', ',"resource":{}', 1_000_000, "}]}"),
      200,
    ],
  ])("lives on when it is sent %s in JSON", async (_, body, status) => {
    expect(await post("application/json", body())).toBe(status);
    expect(await post("application/json", Buffer.from("{}"))).toBe(200);
  });

  it("lives on when it is sent one singular field over and over in protobuf", async () => {
    const resources = Buffer.alloc(2 * 4_000_000, Buffer.from([10, 0]));
    const length = Buffer.from([
      0x80 | (resources.length & 127),
      0x80 | ((resources.length >> 7) & 127),
      0x80 | ((resources.length >> 14) & 127),
      resources.length >> 21,
    ]);
    expect(await post("application/x-protobuf", Buffer.concat([Buffer.from([10]), length, resources]))).toBe(200);
    expect(await post("application/json", Buffer.from("{}"))).toBe(200);
  });
});
