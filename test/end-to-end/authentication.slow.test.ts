import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { TLS_FILES } from "../runtime/net/tls/files.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { temporaryFolder } from "../support/temporary-folder.js";

async function start(yaml: string): Promise<AgentProcess> {
  const agent = await startAgentProcess({ yaml });
  onTestFinished(() => void agent.child.kill("SIGKILL"));
  return agent;
}

const common = `
  telemetry: {metrics: {level: none}}
`;
const off = `
  health_check: {endpoint: "127.0.0.1:0"}
  admin: {endpoint: "127.0.0.1:0"}
`;

/** One agent sends to another, which lets in only whom it knows: by HTTP with a token, by gRPC with a password. */
describe("two agents", () => {
  it("know each other by token and by password, and hand the tenant on", async () => {
    const folder = temporaryFolder();
    const written = join(folder, "out.jsonl");
    const tls = `{cert_file: ${TLS_FILES.serverCert}, key_file: ${TLS_FILES.serverKey}}`;
    const gateway = await start(`
receivers:
  otlp:
    protocols:
      http: {endpoint: "127.0.0.1:0", include_metadata: true, auth: {authenticator: bearertokenauth}}
      grpc: {endpoint: "127.0.0.1:0", tls: ${tls}, auth: {authenticator: basicauth}}
processors:
  attributes:
    actions:
      - {key: subject, from_context: auth.subject, action: upsert}
      - {key: tenant, from_context: metadata.x-scope, action: upsert}
exporters: {file: {path: ${written}, flush_interval: 10ms}}
extensions:${off}  bearertokenauth: {token: one-t0ken}
  basicauth: {htpasswd: {inline: "edge:p4ssword"}}
  reliability: {directory: ${join(folder, "gateway")}}
service:${common}  extensions: [health_check, admin, reliability, bearertokenauth, basicauth]
  pipelines: {logs: {receivers: [otlp], processors: [attributes], exporters: [file]}}
`);
    const edge = await start(`
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0", include_metadata: true}}}}
exporters:
  otlp_http: {endpoint: "http://127.0.0.1:${gateway.ports.http}", auth: {authenticator: headers_setter}}
  otlp_grpc:
    endpoint: 127.0.0.1:${gateway.ports.grpc}
    tls: {ca_file: ${TLS_FILES.ca}}
    auth: {authenticator: basicauth}
extensions:${off}  bearertokenauth: {token: one-t0ken}
  basicauth: {client_auth: {username: edge, password: p4ssword}}
  headers_setter: {headers: [{key: X-Scope, from_context: x-tenant}], additional_auth: bearertokenauth}
  reliability: {directory: ${join(folder, "edge")}}
service:${common}  extensions: [health_check, admin, reliability, headers_setter, bearertokenauth, basicauth]
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http, otlp_grpc]}}
`);
    const body = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"precious"}}]}]}]}';
    const headers = { "content-type": "application/json", "x-tenant": "acme" };
    const url = `http://127.0.0.1:${edge.ports.http}/v1/logs`;
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(200);
    const lines = () => {
      try {
        return readFileSync(written, "utf8").split("\n").filter(Boolean);
      } catch {
        return [];
      }
    };
    await expect.poll(() => lines().length).toBe(2);
    const found = lines().map((line) => ({
      tenant: /"key":"tenant","value":\{"stringValue":"(\w+)"/.exec(line)?.[1],
      subject: /"key":"subject","value":\{"stringValue":"([\w-]+)"/.exec(line)?.[1],
    }));
    expect(found).toContainEqual({ tenant: "acme", subject: expect.stringMatching(/^token-/) });
    expect(found).toContainEqual({ tenant: undefined, subject: "edge" });
    const stranger = await fetch(`http://127.0.0.1:${gateway.ports.http}/v1/logs`, { method: "POST", headers, body });
    expect(stranger.status).toBe(401);
    for (const secret of ["one-t0ken", "p4ssword"])
      expect(edge.output.stderr + gateway.output.stderr).not.toContain(secret);
  });
});
