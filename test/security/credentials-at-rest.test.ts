import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const TENANT = "tenant-Qp3v";
const SECRETS = {
  authorization: "Bearer cl1ent-Tk8zWm",
  cookie: "sid=cl1ent-Ck5rBn",
  "x-api-key": "cl1ent-Ak2yXd",
  "x-amz-security-token": "cl1ent-St7uLe",
};
const WORDS = /cl1ent-\w+/g;

/** A started agent that keeps the headers of clients, a durable pipeline, and a backend that takes what comes. */
async function startAgent(options: { rule?: string; more?: string; batch?: string } = {}) {
  const backend = await startSink();
  const queue = join(temporaryFolder(), "queue");
  const auth = options.rule === undefined ? "" : ", auth: {authenticator: headers_setter}";
  const agent = await startAgentProcess({
    yaml: `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0", include_metadata: true}}}}
processors: {batch: {timeout: 10ms, metadata_keys: [${options.batch ?? ""}]}}
exporters: {otlp_http: {endpoint: "${backend.url}"${auth}}}
extensions:
  reliability: {directory: ${queue}${options.more ?? ""}}
  health_check: {endpoint: "127.0.0.1:0"}
  admin: {endpoint: "127.0.0.1:0"}
  headers_setter: {headers: [${options.rule ?? "{key: x-region, value: eu}"}]}
service:
  extensions: [reliability, health_check, admin, headers_setter]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [batch], exporters: [otlp_http], intake: {durable: "on"}}}
`,
  });
  onTestFinished(async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
    await backend.close();
  });
  const body = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"precious"}}]}]}]}';
  const post = async (headers: Record<string, string>) => {
    const all = { "content-type": "application/json", "x-tenant": TENANT, ...headers };
    const answer = await fetch(`http://127.0.0.1:${agent.ports.http}/v1/logs`, { method: "POST", headers: all, body });
    expect(answer.status).toBe(200);
  };
  return { agent, backend, queue, post };
}

function textOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1")).join("\n");
}

const arrived = async ({ requests }: OtlpSink, count: number) => {
  await expect.poll(() => requests.length).toBe(count);
  return requests;
};

describe("what is on the disk of an agent that keeps the headers of clients", () => {
  it("has no credentials that are not sent on, and still keeps data apart by them", async () => {
    const { queue, post, backend } = await startAgent({ batch: "x-api-key" });
    await Promise.all([post(SECRETS), post({ ...SECRETS, "x-api-key": "cl1ent-b" })]);
    await arrived(backend, 2);
    const text = textOf(queue);
    expect(text).toContain(TENANT);
    expect(text.match(WORDS)).toBeNull();
  });

  it("has those that are named, with a warning, and sends them on", async () => {
    const { agent, queue, post, backend } = await startAgent({
      rule: "{key: authorization, from_context: authorization}",
    });
    await post(SECRETS);
    const [request] = await arrived(backend, 1);
    expect(request!.headers.authorization).toBe(SECRETS.authorization);
    expect(new Set(textOf(queue).match(WORDS))).toEqual(new Set(["cl1ent-Tk8zWm"]));
    expect(agent.output.stderr).toContain("the queue stores credentials of clients");
  });

  it("has not even those where the queue is encrypted", async () => {
    const { agent, queue, post, backend } = await startAgent({
      rule: "{key: authorization, from_context: authorization}",
      more: `, encryption: {keys: [{id: one, key: "${randomBytes(32).toString("hex")}"}]}`,
    });
    await post(SECRETS);
    const [request] = await arrived(backend, 1);
    expect(request!.headers.authorization).toBe(SECRETS.authorization);
    expect(textOf(queue).match(WORDS)).toBeNull();
    expect(agent.output.stderr).not.toContain("the queue stores credentials of clients");
  });
});
