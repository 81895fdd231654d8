import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { TLS_FILES } from "../../../runtime/net/tls/files.js";
import { type AgentProcess, startAgentProcess } from "../../../support/agent-process.js";
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
  readonly queue?: string;
  readonly tls?: string;
  readonly limit?: number;
}

function yamlOf({ workers, queue = "queue", tls = "", limit = 1_000_000 }: Scene): string {
  return `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"${tls}}}}}
processors: {rate_limit: {limit: ${limit}, window: 10m, on_excess: drop}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
extensions: {reliability: {directory: "${join(directory, queue)}"}}
service:
  workers: ${workers}
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [rate_limit], exporters: [otlp_http]}}
`;
}

async function start(scene: Scene, env: Record<string, string> = {}): Promise<AgentProcess> {
  const file = join(directory, `${scene.queue ?? "agent"}.yaml`);
  writeFileSync(file, yamlOf(scene));
  const agent = await startAgentProcess({ file }, { env });
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
const received = () => sink.batches.flatMap(bodies).sort();

describe("an agent with workers", () => {
  it("shows a new certificate in every worker after a reload", async () => {
    const install = (cert: string, key: string) => {
      copyFileSync(cert, join(directory, "tls.crt"));
      copyFileSync(key, join(directory, "tls.key"));
    };
    install(TLS_FILES.serverCert, TLS_FILES.serverKey);
    const tls = `, tls: {cert_file: "${directory}/tls.crt", key_file: "${directory}/tls.key"}`;
    const agent = await start({ workers: 3, tls });
    const serial = () =>
      new Promise<string>((resolve, reject) => {
        const socket = connect({ port: agent.ports.http, host: "127.0.0.1", rejectUnauthorized: false }, () => {
          resolve(socket.getPeerCertificate().serialNumber);
          socket.destroy();
        }).on("error", reject);
      });
    const shown = async () => [...new Set(await Promise.all(Array.from({ length: 6 }, serial)))];
    const before = await shown();
    expect(before).toHaveLength(1);
    install(TLS_FILES.rsaCert, TLS_FILES.rsaKey);
    agent.child.kill("SIGHUP");
    await expect.poll(() => agent.output.stderr).toContain("config reloaded");
    const after = await shown();
    expect(after).toHaveLength(1);
    expect(after).not.toEqual(before);
  });

  it("runs beside another one with another directory, and ends alone", async () => {
    const [one, other] = await Promise.all([
      start({ workers: 2, queue: "one" }),
      start({ workers: 2, queue: "other" }),
    ]);
    expect(await send(one, texts(6, "one"))).toEqual(Array(6).fill(200));
    expect(await send(other, texts(6, "other"))).toEqual(Array(6).fill(200));
    one.child.kill("SIGTERM");
    expect(await one.exited).toBe(0);
    expect(await send(other, texts(6, "alone"))).toEqual(Array(6).fill(200));
    await expect.poll(received).toEqual([...texts(6, "one"), ...texts(6, "other"), ...texts(6, "alone")].sort());
  });

  it("says so if the path of the temporary directory is too long for sockets", async () => {
    const long = join(directory, "a".repeat(90));
    mkdirSync(long);
    await expect(start({ workers: 2 }, { TMPDIR: long })).rejects.toThrow(/the path of a socket has at most 103 bytes/);
  });

  it("passes as many records as rate_limit allows to all workers together", async () => {
    const agent = await start({ workers: 3, limit: 30 });
    for (let round = 0; round < 6; round++) await send(agent, texts(15, `round-${round}`));
    agent.child.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
    expect(received()).toHaveLength(30);
  });
});
