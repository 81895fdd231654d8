import type { Scaffold, ScaffoldFiles } from "./files.js";

/** Files of a handler of messages that calls an HTTP service. */
export function handlerFiles({ type }: Scaffold): ScaffoldFiles {
  return { "src/index.ts": source(type), "test/index.test.ts": test(type), "example.yaml": example(type) };
}

const source = (type: string) => `import { defineHandler } from "sluice/plugin";
import { z } from "zod";

/** The form that a message must have. Any other message becomes a dead letter. */
const Order = z.object({ id: z.string() });

export default defineHandler({
  type: "${type}",
  summary: "Tells a service about each order.",
  // An error thrown here is retried with backoff. A permanent Refusal becomes a dead letter instead.
  async handle(message, { abort }) {
    const { id } = message.json(Order);
    const response = await fetch(\`\${process.env.SERVICE_URL ?? "http://127.0.0.1:14318"}/orders/\${id}\`, {
      method: "PUT",
      // A message may come twice. The service can recognise it by this key.
      headers: { "idempotency-key": message.idempotencyKey },
      signal: abort,
    });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(\`the service answered \${response.status}\`);
  },
});
`;

const test = (type: string) => `import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type HandlerHarness, handlerHarness } from "sluice/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import plugin from "../src/index.js";

let status = 200;
let effects = new Set<string>();
const server = createServer((request, response) => {
  if (status === 200) effects.add(String(request.headers["idempotency-key"]));
  response.writeHead(status).end();
});
let harness: HandlerHarness;

beforeEach(async () => {
  status = 200;
  effects = new Set();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.env.SERVICE_URL = \`http://127.0.0.1:\${(server.address() as AddressInfo).port}\`;
  harness = await handlerHarness(plugin, { config: { retry_on_failure: { max_retries: 2, initial_interval: "1ms" } } });
});

afterEach(async () => {
  await harness.stop();
  server.closeAllConnections();
  server.close();
});

describe("${type}", () => {
  it("tells the service about an order, once, though the message comes twice", async () => {
    expect(await harness.deliverTwice({ id: "42" })).toMatchObject({ outcome: "handled" });
    expect(effects.size).toBe(1);
  });

  it("uses the same key when it is ended between its effect and the acknowledgement", async () => {
    expect(await harness.crashAfterEffect({ id: "42" })).toMatchObject({ outcome: "handled", attempts: 2 });
    expect(effects.size).toBe(1);
  });

  it("makes a dead letter of what is no order, and goes on", async () => {
    expect(await harness.deliver({ price: 1 })).toMatchObject({ outcome: "dead_letter", attempts: 1 });
    expect(await harness.deliver({ id: "43" })).toMatchObject({ outcome: "handled" });
  });

  it("retries when the service fails, and makes a dead letter in the end", async () => {
    status = 500;
    expect(await harness.deliver({ id: "42" })).toMatchObject({ outcome: "dead_letter", attempts: 3 });
  });
});
`;

const example = (
  type: string,
) => `# Reads the queue "orders" of RabbitMQ (npm install --prefix clients amqplib) and calls the handler for each message.
plugins: [./dist/index.js]
receivers:
  rabbitmq:
    connection: { endpoint: "\${env:RABBITMQ_URL:-amqp://localhost:5672}" }
    queue: orders
    encoding: raw
    declare: {}
exporters:
  ${type}:
    timeout: 10s
    retry_on_failure: { max_retries: 5 }
service:
  pipelines:
    logs:
      receivers: [rabbitmq]
      exporters: [${type}]
`;
