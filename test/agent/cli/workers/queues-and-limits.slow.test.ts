import { execFileSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { bodies } from "../../../support/telemetry/batches.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

let directory: string;
let sink: OtlpSink;

beforeEach(async () => {
  directory = temporaryFolder();
  sink = await startSink();
  onTestFinished(() => sink.close());
});

/** The parts of a config that a test changes. */
interface Scene {
  readonly workers: number;
  readonly limit_mib?: number;
  readonly queue?: string;
  readonly sending?: string;
  readonly reliability?: string;
  readonly more?: string;
}

function yamlOf(scene: Scene): string {
  const { workers, limit_mib = 4000, queue = "queue" } = scene;
  const { sending = "", reliability = "", more = "" } = scene;
  return `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors:
  memory_limiter: {limit_mib: ${limit_mib}, check_interval: 100ms}
exporters: {otlp_http: {endpoint: "${sink.url}", circuit_breaker: {reset_timeout: 200ms}, retry_on_failure: {initial_interval: 50ms, max_interval: 200ms}${sending}}}
extensions:
  reliability: {directory: "${join(directory, queue)}"${reliability}}
${more}
service:
  workers: ${workers}
  extensions: [reliability${more === "" ? "" : ", admin"}]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [memory_limiter], exporters: [otlp_http]}}
`;
}

async function start(scene: Scene): Promise<AgentProcess> {
  const file = join(directory, `${scene.queue ?? "agent"}.yaml`);
  writeFileSync(file, yamlOf(scene));
  const agent = await startAgentProcess({ file });
  onTestFinished(async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
  });
  return agent;
}

/** Sends each text on a connection of its own, so that the workers take them in turn. */
function send(agent: AgentProcess, all: readonly string[]): Promise<readonly number[]> {
  const headers = { "content-type": "application/json", connection: "close" };
  const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
  const one = async (text: string) => {
    const record = { body: { stringValue: text } };
    const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
    return (await fetch(url, { method: "POST", headers, body })).status;
  };
  return Promise.all(all.map(one));
}

const texts = (count: number, prefix = "text") => Array.from({ length: count }, (_, i) => `${prefix}-${i}`).sort();
/** Records that were being sent when the agent was killed may arrive twice. */
const received = () => [...new Set(sink.batches.flatMap(bodies))].sort();

describe("an agent with workers", () => {
  it("adopts the encrypted queues of its workers when it runs without them", async () => {
    writeFileSync(join(directory, "key"), Buffer.alloc(32, 5).toString("base64"));
    const reliability = `, encryption: {keys: [{id: one, file: "${directory}/key"}]}`;
    sink.decide(() => 503);
    const agent = await start({ workers: 3, reliability });
    expect(await send(agent, texts(30))).toEqual(Array(30).fill(200));
    expect(readdirSync(join(directory, "queue"))).toEqual(expect.arrayContaining(["worker-2", "worker-3"]));
    expect(() => execFileSync("grep", ["-r", "text-1", join(directory, "queue")])).toThrow();
    agent.child.kill("SIGKILL");
    await agent.exited;
    sink.decide(() => 200);
    await start({ workers: 1, reliability });
    await expect.poll(received).toEqual(texts(30));
  });

  it("starts sixteen workers, which all take requests, and refuses a number beyond the limit", async () => {
    const agent = await start({ workers: 16 });
    expect(await send(agent, texts(32))).toEqual(Array(32).fill(200));
    await expect.poll(received).toEqual(texts(32));
    expect(readdirSync(join(directory, "queue")).filter((name) => name.startsWith("worker-"))).toHaveLength(15);
    await expect(start({ workers: 257, queue: "many" })).rejects.toThrow(/a number of at most 256, got 257/);
  });
});

describe("a limit of an agent with three workers", () => {
  it("holds over all of them for queue_size", async () => {
    sink.decide(() => 503);
    const sending = ", sending_queue: {sizer: requests, queue_size: 30}";
    const port = await freePort();
    const more = `  admin: {endpoint: "127.0.0.1:${port}", token_file: "${directory}/token"}`;
    const agent = await start({ workers: 3, sending, more });
    const statuses: number[] = [];
    for (let round = 0; round < 6; round++) statuses.push(...(await send(agent, texts(9, `round-${round}`))));
    expect(statuses.filter((status) => status === 200)).toHaveLength(30);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    const origin = `http://127.0.0.1:${port}`;
    const headers = { authorization: `Bearer ${await adminToken(origin)}` };
    const answer = (await (await fetch(`${origin}/api/v1/exporters`, { headers })).json()) as Record<string, never>;
    expect(answer["exporters"]).toMatchObject([{ queue: { entries: 30 } }]);
  });

  it("holds over all of them for memory_limiter: what is enough for one worker is not enough for three", async () => {
    const limit_mib = 84;
    const alone = await start({ workers: 1, queue: "alone", limit_mib });
    expect(await send(alone, texts(6))).toEqual(Array(6).fill(200));
    const three = await start({ workers: 3, queue: "three", limit_mib });
    await expect.poll(async () => [...new Set(await send(three, texts(6)))]).toEqual([429]);
  });
});
