import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { useEnvironment } from "../../src/runtime/system/environment.js";
import { countedMetrics } from "../runtime/queue/counted-metrics.js";
import { agentOf } from "../support/agent.js";
import { until } from "../support/until.js";

/** A target that can be scraped. */
async function startTarget(): Promise<string> {
  const server = createServer((_request, response) => response.end("up_and_running 1\n"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("includes unreachable brokers, failed scrapes and listening receivers", async () => {
  const port = await freePort();
  const gone = "127.0.0.1:1";
  const scrape = (...targets: string[]) => ({
    config: { scrape_configs: [{ job_name: "j", scrape_interval: "200ms", static_configs: [{ targets }] }] },
  });
  const receivers = {
    otlp: { protocols: { http: { endpoint: "127.0.0.1:0" } } },
    rabbitmq: { connection: { endpoint: `amqp://${gone}` }, queue: "orders" },
    nats: { servers: [`nats://${gone}`], stream: "s", logs: { subject: "s.logs" } },
    redis_stream: { endpoint: gone, logs: { stream: "l" } },
    aws_sqs: { endpoint: `http://${gone}`, queue_name: "orders" },
    outbox: { endpoint: gone, directory: "" },
    prometheus: scrape(await startTarget(), gone),
    "prometheus/gone": scrape(gone),
    postgresql: { endpoint: gone, username: "u", password: "p", collection_interval: "200ms", initial_delay: "1ms" },
  };
  const ofLogs = ["otlp", "rabbitmq", "nats", "redis_stream", "aws_sqs", "outbox"];
  const ofMetrics = ["prometheus", "prometheus/gone", "postgresql"];
  const metrics = countedMetrics();
  useEnvironment({ AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" });
  onTestFinished(() => useEnvironment({}));
  const agent = agentOf(
    JSON.stringify({
      receivers,
      exporters: { nop: {} },
      extensions: { health_check: { endpoint: `127.0.0.1:${port}` } },
      service: {
        extensions: ["health_check"],
        pipelines: {
          logs: { receivers: ofLogs, exporters: ["nop"] },
          metrics: { receivers: ofMetrics, exporters: ["nop"] },
        },
      },
    }),
    { metrics },
  );
  await agent.start();
  onTestFinished(() => agent.stop(0));
  const states = () => Object.fromEntries(agent.receivers().map(({ id, state }) => [id, state]));
  await until(() =>
    expect(states()).toEqual({
      otlp: "UP",
      rabbitmq: "DOWN",
      nats: "DOWN",
      redis_stream: "DOWN",
      aws_sqs: "DOWN",
      outbox: "DOWN",
      prometheus: "DEGRADED",
      "prometheus/gone": "DOWN",
      postgresql: "DOWN",
    }),
  );
  const response = await fetch(`http://127.0.0.1:${port}/healthz/receivers`);
  expect(response.status).toBe(503);
  const body = (await response.json()) as { status: string; receivers: Record<string, object> };
  expect(body.status).toBe("DOWN");
  expect(body.receivers["rabbitmq"]).toMatchObject({
    status: "DOWN",
    down: ["orders"],
    lastMessageAt: null,
    lastError: { source: "orders", message: expect.stringMatching(/refused/i) },
  });
  for (const id of ["nats", "redis_stream", "aws_sqs", "outbox", "postgresql"])
    expect(body.receivers[id]).toMatchObject({ lastError: { message: expect.stringMatching(/refused/i) } });
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).json()).toMatchObject({ receivers: "DOWN" });
  expect(metrics.value("sluice_receiver_up", { receiver: "rabbitmq" })).toBe(0);
  expect(metrics.value("sluice_receiver_up", { receiver: "prometheus" })).toBe(1);
  expect(agent.receivers().find(({ id }) => id === "prometheus")!.lastMessageAt).toBeGreaterThan(0);
});
