import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { sluiceProcess } from "../agent/cli/dlq/support.js";
import { startAgentProcess } from "../support/agent-process.js";
import { startSink } from "../support/otlp-sink.js";
import { bodies } from "../support/telemetry/batches.js";
import { temporaryFolder } from "../support/temporary-folder.js";

describe("a dead letter", () => {
  it("is seen, understood, fixed and replayed", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    sink.respond((_, response) => response.writeHead(400).end("tenant 7 is unknown"));
    const queue = join(temporaryFolder(), "queue");
    const agent = await startAgentProcess({
      yaml: `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
extensions:
  admin: {endpoint: "127.0.0.1:0"}
  health_check: {endpoint: "127.0.0.1:0"}
  reliability: {directory: "${queue}"}
service:
  extensions: [admin, health_check, reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}
`,
    });
    onTestFinished(() => void agent.child.kill("SIGKILL"));
    const endpointOf = (text: string) =>
      (JSON.parse(agent.output.stderr.split("\n").find((line) => line.includes(text))!) as { endpoint: string })
        .endpoint;
    const api = `http://${endpointOf("admin API is listening")}`;
    const health = `http://${endpointOf("health check is listening")}/healthz/exporters`;
    const dlq = (...args: string[]) => sluiceProcess(["dlq", ...args, "--api", api]);
    const until = async <T>(look: () => Promise<T | undefined>): Promise<T> => {
      for (;;) {
        const found = await look();
        if (found !== undefined) return found;
      }
    };

    const body =
      '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"order.paid","body":{"stringValue":"precious"}}]}]}]}';
    const headers = { "content-type": "application/json" };
    const taken = await fetch(`http://127.0.0.1:${agent.ports.http}/v1/logs`, { method: "POST", headers, body });
    expect(taken.status).toBe(200);

    const failed = await until(async () => {
      const { entries } = JSON.parse((await dlq("list", "--json")).out) as { entries: { id: string }[] };
      return entries[0];
    });
    const shown = await dlq("show", failed.id, "--payload");
    expect(shown.out).toContain("tenant 7 is unknown");
    expect(shown.out).toContain("precious");
    expect(await (await fetch(health)).json()).toMatchObject({
      status: "UP",
      exporters: { otlp_http: { deadLetters: 1 } },
    });

    sink.respond(undefined);
    expect(await dlq("replay", "--event", "order.*", "--by", "ann")).toMatchObject({ code: 0 });
    await until(async () => (sink.count > 0 ? true : new Promise((resolve) => setImmediate(() => resolve(undefined)))));
    expect(sink.batches.flatMap(bodies)).toEqual(["precious"]);
    const [first, again] = sink.requests.map((request) => request.headers);
    expect([first!["x-replayed"], first!["x-original-id"]]).toEqual([undefined, undefined]);
    expect(again).toMatchObject({ "x-replayed": "true", "x-original-id": failed.id, "x-replay-attempt": "1" });
    expect((await dlq("list")).out).toBe("No dead letters.\n");

    agent.child.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
  });
});
