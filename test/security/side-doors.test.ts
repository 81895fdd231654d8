import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bearer } from "../extensions/auth/requests.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";

const READ_TOKEN = "a-token-to-read-with-7Yh2";
const OWN_TOKEN = "a-token-of-the-agent-3Kd9";

/** Health, metrics and admin of one agent, each with a lock; it shows a token where it sends its own log. */
describe("the doors beside the receivers", () => {
  let agent: AgentProcess;
  let backend: OtlpSink;

  beforeAll(async () => {
    backend = await startSink();
    agent = await startAgentProcess({
      yaml: `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
exporters: {nop: {}}
extensions:
  bearertokenauth/read: {token: ${READ_TOKEN}}
  bearertokenauth/own: {token: ${OWN_TOKEN}}
  health_check: {endpoint: 127.0.0.1:0, auth: {authenticator: bearertokenauth/read}}
  admin: {endpoint: 127.0.0.1:0, auth: {authenticator: bearertokenauth/read}, grants: [{subject: "*", roles: [view]}]}
service:
  extensions: [health_check, admin, bearertokenauth/own, bearertokenauth/read]
  telemetry:
    logs:
      processors:
        - simple: {exporter: {otlp: {endpoint: "${backend.url}", headers: {X-Team: edge}, auth: {authenticator: bearertokenauth/own}}}}
    metrics:
      readers:
        - pull: {exporter: {prometheus: {host: 127.0.0.1, port: 0, auth: {authenticator: bearertokenauth/read}}}}
  pipelines: {logs: {receivers: [otlp], exporters: [nop]}}
`,
    });
  });
  afterAll(async () => {
    agent?.child.kill("SIGTERM");
    await agent?.exited;
    await backend.close();
  });

  const logged = (message: string): Record<string, string> =>
    JSON.parse(agent.output.stderr.split("\n").find((line) => line.includes(message))!);
  const doors = () => [
    `http://${logged("health check is listening")["endpoint"]}/`,
    `http://${logged("health check is listening")["endpoint"]}/healthz/exporters`,
    logged("metrics for Prometheus")["url"]!,
    `http://${logged("admin API is listening")["endpoint"]}/api/v1/exporters`,
  ];

  it("open to whoever has the token", async () => {
    const headers = bearer(READ_TOKEN);
    for (const url of doors()) expect([url, (await fetch(url, { headers })).status]).toEqual([url, 200]);
  });

  it("stay closed to all others, for any request, and report what is missing", async () => {
    for (const url of doors()) {
      for (const headers of [{}, bearer(OWN_TOKEN), bearer(`${READ_TOKEN} `.repeat(2)), bearer("")]) {
        for (const method of ["GET", "HEAD", "POST", "OPTIONS"]) {
          const answer = await fetch(url, { headers, method });
          expect([url, method, answer.status >= 401 && answer.status < 504]).toEqual([url, method, true]);
          expect(await answer.text()).not.toMatch(/Server available|otelcol_|"exporters"/);
        }
      }
      const answer = await fetch(url);
      expect([url, answer.status, answer.headers.get("www-authenticate")]).toEqual([url, 401, expect.any(String)]);
    }
    expect(agent.output.stderr).not.toContain(READ_TOKEN);
    expect(agent.output.stderr).not.toContain(OWN_TOKEN);
  });

  it("the agent shows its token where it sends its own log", async () => {
    await expect.poll(() => backend.requests.length).toBeGreaterThan(0);
    expect(agent.output.stderr).not.toContain("cannot export the agent's own");
    for (const { headers } of backend.requests)
      expect(headers).toMatchObject({ authorization: `Bearer ${OWN_TOKEN}`, "x-team": "edge" });
  });
});
