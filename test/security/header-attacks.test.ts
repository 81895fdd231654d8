import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";

/** Every HTTP server of one agent. */
describe("a request with very many headers", () => {
  let agent: AgentProcess;

  beforeAll(async () => {
    agent = await startAgentProcess({
      yaml: `
receivers:
  otlp: {protocols: {http: {endpoint: 127.0.0.1:0, cors: {allowed_origins: ["https://good.example"]}}}}
  zipkin: {endpoint: 127.0.0.1:0}
exporters:
  nop: {}
  prometheus: {endpoint: 127.0.0.1:0}
extensions:
  health_check: {endpoint: 127.0.0.1:0}
  admin: {endpoint: 127.0.0.1:0}
service:
  extensions: [health_check, admin]
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: 0}}}}]}}
  pipelines:
    traces: {receivers: [otlp, zipkin], exporters: [nop]}
    metrics: {receivers: [otlp], exporters: [prometheus]}
`,
    });
  });
  afterAll(async () => {
    agent?.child.kill("SIGTERM");
    await agent?.exited;
  });

  const logged = (message: string) =>
    JSON.parse(agent.output.stderr.split("\n").find((line) => line.includes(message))!);
  const portOf = (address: string) => Number(address.slice(address.lastIndexOf(":") + 1).replace(/\D.*$/, ""));
  const servers = (): [name: string, port: number, request: string][] => [
    ["otlp", agent.ports.http, "POST /v1/traces"],
    ["zipkin", logged("listening for Zipkin").port, "POST /api/v2/spans"],
    ["prometheus", portOf(logged("metrics are shown at").endpoint), "GET /metrics"],
    ["health_check", portOf(logged("health check is listening").endpoint), "GET /"],
    ["admin", portOf(logged("admin API is listening").endpoint), "GET /api/v1"],
    ["own metrics", portOf(new URL(logged("metrics for Prometheus").url).host), "GET /metrics"],
  ];

  it("is refused with 431 by every server, so that no header hides behind others", async () => {
    for (const [name, port, request] of servers())
      for (const count of [1001, 2500])
        for (const expects of ["", "Expect: 100-continue\r\n"])
          expect([name, count, await statusOf(port, request, count, expects)]).toEqual([name, count, 431]);
  });

  it("is answered as usual up to the limit, and its last header counts", async () => {
    for (const [name, port, request] of servers())
      expect([name, await statusOf(port, request, 990, "")]).not.toEqual([name, 431]);
    const [, , , , admin] = servers();
    expect(await statusOf(admin![1], "GET /api/v1/exporters", 990, "")).toBe(403);
  });
});

/** Sends a request with `count` short headers and a foreign origin behind them, and returns the answer's status. */
async function statusOf(port: number, request: string, count: number, first: string): Promise<number> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let answer = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    answer += text;
    if (FINAL.test(answer)) socket.destroy();
  });
  const fillers = "a:b\r\n".repeat(count - (first === "" ? 4 : 5));
  const rest = `Content-Length: 0\r\nConnection: close\r\nOrigin: https://evil.example\r\n\r\n`;
  socket.write(`${request} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${first}${fillers}${rest}`);
  await once(socket, "close");
  return Number(FINAL.exec(answer)?.[1]);
}

/** A status that is not 100 Continue, which may come first. */
const FINAL = /^HTTP\/1\.1 ([2-5]\d\d)/m;
