import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";

/** Small requests that unpack to texts made to be looked at for as long as possible. */
describe("an agent that looks for personal data", () => {
  let agent: AgentProcess;
  let health: string;

  beforeAll(async () => {
    const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
processors: {pii: {json_bodies: true, strategy: hash, hash_key: "a key for hashes of this test"}}
exporters: {nop: {}}
extensions: {health_check: {endpoint: "127.0.0.1:0"}}
service:
  intake: {max_record_values: 0} # or requests with many values would not reach pii
  telemetry: {metrics: {level: none}}
  extensions: [health_check]
  pipelines: {logs: {receivers: [otlp], processors: [pii], exporters: [nop]}}
`;
    agent = await startAgentProcess({ yaml });
    const line = agent.output.stderr.split("\n").find((text) => text.includes("health check is listening"));
    health = `http://${(JSON.parse(line!) as { endpoint: string }).endpoint}/`;
  });

  afterAll(async () => {
    agent.child.kill("SIGTERM");
    await agent.exited;
  });

  async function post(body: Buffer): Promise<number> {
    const headers = { "Content-Type": "application/json", "Content-Encoding": "gzip" };
    const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
    const answer = await fetch(url, { method: "POST", headers, body: new Uint8Array(gzipSync(body)) });
    await answer.text();
    return answer.status;
  }

  const SIZE = 19_000_000;
  const request = (before: string, piece: string, behind: string, size = SIZE) =>
    Buffer.concat([
      Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{${before}`),
      Buffer.alloc(Math.floor(size / piece.length) * piece.length, piece),
      Buffer.from(`${behind}}]}]}]}`),
    ]);
  const body = (piece: string, size?: number) => request('"body":{"stringValue":"', piece, '"}', size);

  it.each([
    ["beginnings of keys", body("SG."), 200],
    ["assignments of nothing", body("token="), 200],
    ["colons", body(":"), 200],
    ["numbers", body("1 "), 200],
    ["addresses, each to be hashed", body("a@b.io "), 200],
    ["private keys", body("-----BEGIN PRIVATE KEY-----"), 200],
    ["JSON in a body", body('{\\"x\\":[', 8_000_000), 200],
    [
      "members of many names",
      request(
        '"body":{"kvlistValue":{"values":[{"key":"x"}',
        ',{"key":"token.aa","value":{"stringValue":"SG.SG.SG.SG."}}',
        "]}}",
      ),
      200,
    ],
    ["attributes", request('"attributes":[{"key":"x"}', ',{"key":"a","value":{"stringValue":"SG.SG.SG"}}', "]"), 200],
  ])("answers for its health while it is sent %s", async (_, hostile, status) => {
    const running = { isDone: false };
    const sent = Promise.all([post(hostile), post(hostile)]).finally(() => {
      running.isDone = true;
    });
    // Each asks on a connection of its own: one that was kept may be closed for its idleness while this process has no turn.
    const headers = { connection: "close" };
    while (!running.isDone) expect((await fetch(health, { headers })).status).toBe(200);
    expect(await sent).toEqual([status, status]);
    expect(await post(Buffer.from("{}"))).toBe(200);
  });
});
