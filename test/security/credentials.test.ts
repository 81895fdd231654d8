import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { sluiceProcess } from "../agent/cli/dlq/support.js";
import { type Sink, startSink as startServer } from "../exporters/harness.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const SECRET = "client-s3cr3t-9Xq7Rk2m";
const TOKEN = "t0ken-Lw4TbV8sNd";

/** An agent whose exporter needs a token, the server that gives tokens, and the backend that wants them. */
describe("an agent with an OAuth 2.0 client", () => {
  let backend: OtlpSink;
  let tokens: Sink;
  let queue: string;
  beforeEach(async () => {
    backend = await startSink();
    tokens = await startServer();
    queue = join(temporaryFolder(), "queue");
  });
  afterEach(async () => {
    await backend.close();
    await tokens.close();
  });

  const yaml = () => `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters:
  otlp_http:
    endpoint: ${backend.url}
    auth: {authenticator: oauth2client}
    retry_on_failure: {initial_interval: 10ms, max_interval: 50ms}
    circuit_breaker: {reset_timeout: 100ms}
extensions:
  reliability: {directory: ${queue}}
  health_check: {endpoint: "127.0.0.1:0"}
  admin: {endpoint: "127.0.0.1:0"}
  oauth2client: {client_id: sluice, client_secret: ${SECRET}, token_url: "http://127.0.0.1:${tokens.port}/token"}
service:
  extensions: [reliability, health_check, admin, oauth2client]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}
`;

  async function start(): Promise<AgentProcess> {
    const agent = await startAgentProcess({ yaml: yaml() });
    onTestFinished(() => void agent.child.kill("SIGKILL"));
    return agent;
  }

  async function post({ ports }: AgentProcess): Promise<number> {
    const body = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"precious"}}]}]}]}';
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`http://127.0.0.1:${ports.http}/v1/logs`, { method: "POST", headers, body });
    await answer.text();
    return answer.status;
  }

  const health = async ({ output }: AgentProcess) => {
    const line = output.stderr.split("\n").find((text) => text.includes("health check is listening"))!;
    const { endpoint } = JSON.parse(line) as { endpoint: string };
    return (await fetch(`http://${endpoint}/healthz/exporters`)).text();
  };

  const giveToken = () => {
    tokens.respond = (response) => response.end(JSON.stringify({ access_token: TOKEN, expires_in: 3600 }));
  };

  it("loses nothing while the token server is down, and sends when it is back", async () => {
    tokens.respond = (response) => response.writeHead(503).end();
    const agent = await start();
    expect(await post(agent)).toBe(200);
    await expect.poll(() => agent.output.stderr).toContain("new credentials cannot be fetched");
    expect(backend.requests).toHaveLength(0);
    giveToken();
    await expect.poll(() => backend.count).toBe(1);
    expect(backend.requests[0]!.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it("holds everything while the token server refuses the client, makes no dead letter, and says why", async () => {
    const said = { error: "invalid_client", error_description: `no client with ${SECRET}` };
    tokens.respond = (response) => response.writeHead(400).end(JSON.stringify(said));
    const agent = await start();
    for (let times = 0; times < 3; times++) expect(await post(agent)).toBe(200);
    await expect.poll(() => health(agent)).toContain('"status":"DOWN"');
    expect(JSON.parse(await health(agent))).toMatchObject({
      exporters: { otlp_http: { deadLetters: 0, refused: { message: expect.stringContaining("invalid_client") } } },
    });
    giveToken();
    await expect.poll(() => backend.count).toBe(3);
  });

  it("shows secret and token nowhere: not in its log, its health, its dead letters or its printed config", async () => {
    giveToken();
    backend.respond((request, response) => response.writeHead(400).end(`bad: ${request.headers.authorization}`));
    const agent = await start();
    await post(agent);
    await expect.poll(() => health(agent)).toContain('"deadLetters":1');
    const states = await health(agent);
    agent.child.kill("SIGTERM");
    await agent.exited;
    const shown = [];
    for (const args of [["list", "--json"], ["stats"], ["export"]])
      shown.push(await sluiceProcess(["dlq", ...args, "--dir", queue]));
    shown.push(await sluiceProcess(["print-config", "--config", `yaml:${yaml()}`]));
    expect(shown.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const everything = JSON.stringify([states, agent.output, shown]);
    expect(everything).toContain('client_secret: \\"[REDACTED]');
    expect(everything).toContain("bad: ");
    expect(everything).not.toContain(SECRET);
    expect(everything).not.toContain(TOKEN);
  });
});
