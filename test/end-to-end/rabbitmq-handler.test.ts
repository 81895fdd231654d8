import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { defineHandler, type ExporterContext, type ExporterFactory, Refusal } from "../../src/plugin.js";
import { sluiceProcess } from "../agent/cli/dlq/support.js";
import { startAgentProcess } from "../support/agent-process.js";
import { rabbitmqProgram, startRabbitMq } from "../support/servers/rabbitmq.js";
import { RabbitSession } from "../support/servers/rabbitmq-session.js";
import { logs } from "../support/telemetry/batches.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { until } from "../support/until.js";

const example = join(import.meta.dirname, "../../examples/rabbitmq-handler/sluice.yaml");

/** A shipping service that is down as often as the test says. */
async function startShipping() {
  const shipping = { failures: 0, url: "", calls: [] as string[], keys: new Set<string>() };
  const server = createServer((request, response) => {
    shipping.calls.push(request.url!);
    shipping.keys.add(String(request.headers["idempotency-key"]));
    response.writeHead(shipping.failures-- > 0 ? 503 : 200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  shipping.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return shipping;
}

it.skipIf(rabbitmqProgram === undefined)(
  "examples/rabbitmq-handler retries, dead-letters and replays messages of a queue, and handles none twice",
  async () => {
    const rabbit = await startRabbitMq();
    onTestFinished(() => rabbit.close());
    const shipping = await startShipping();
    const loopback = "127.0.0.1:0";
    const agent = await startAgentProcess(
      { file: example },
      {
        env: {
          RABBITMQ_URL: rabbit.url,
          SHIPPING_URL: shipping.url,
          FIRST_RETRY: "10ms",
          ADMIN_ENDPOINT: loopback,
          HEALTH_ENDPOINT: loopback,
          QUEUE_DIRECTORY: join(temporaryFolder(), "queue"),
        },
      },
    );
    onTestFinished(() => void agent.child.kill("SIGKILL"));
    const line = agent.output.stderr.split("\n").find((each) => each.includes("admin API is listening"))!;
    const api = `http://${(JSON.parse(line) as { endpoint: string }).endpoint}`;
    const dlq = (...args: string[]) => sluiceProcess(["dlq", ...args, "--api", api]);
    const failures = async () =>
      (JSON.parse((await dlq("list", "--json")).out) as { entries: { id: string; failure: { reason: string } }[] })
        .entries;

    // It is down twice: the order is shipped all the same, once, though the queue has it twice.
    const session = await RabbitSession.open(rabbit.url);
    onTestFinished(() => session.close());
    shipping.failures = 2;
    const key = { headers: { "x-idempotency-key": "order-1" } };
    session.publish("orders", '{"id": 1}', key);
    await until(() => expect(shipping.calls).toEqual(["/1", "/1", "/1"]));
    session.publish("orders", '{"id": 1}', key);

    // An order that can never be shipped becomes a dead letter at once.
    session.publish("orders", "{}");
    await until(async () => expect((await failures()).map(({ failure }) => failure.reason)).toEqual(["permanent"]));
    expect(shipping.calls.length).toBe(3);
    expect([...shipping.keys]).toEqual(["order-1"]);

    // It is down for longer: the order is a dead letter, and is replayed once it is up.
    shipping.failures = 4;
    session.publish("orders", '{"id": 2}');
    await until(async () => expect((await failures()).length).toBe(2));
    const exhausted = (await failures()).find(({ failure }) => failure.reason === "retry_exhausted")!;
    expect((await dlq("replay", exhausted.id, "--by", "ann")).code).toBe(0);
    await until(() => expect(shipping.calls.filter((url) => url === "/2").length).toBe(5));
    expect(shipping.keys.size).toBe(2);

    await until(async () => expect(await session.waiting("orders")).toBe(0));
    agent.child.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
  },
);

it("docs/extend/handlers.md shows a handler that calls, retries and refuses as it says", async () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/extend/handlers.md"), "utf8");
  const code = /```js\n([^`]*(?:`[^`]+`[^`]*)*?)```/.exec(page)![1]!;
  const body = code.replace(/^import .*$/m, "").replace("export const shipOrder =", "return");
  let status = 200;
  const asked: string[] = [];
  const ask = async (url: string) => {
    asked.push(url);
    return { ok: status === 200, status };
  };
  const factory = new Function("defineHandler", "Refusal", "fetch", body)(
    defineHandler,
    Refusal,
    ask,
  ) as ExporterFactory;
  expect(factory.type).toBe("ship_order");
  const handler = factory.create({}, {} as ExporterContext);
  const send = (text: string) => handler.send(logs(text), new AbortController().signal);
  await send('{"id": 7}');
  expect(asked).toEqual(["https://shipping.internal/7"]);
  status = 503;
  await expect(send('{"id": 8}')).rejects.toThrow("shipping answered 503");
  await expect(send("{}")).rejects.toMatchObject({ kind: "permanent", message: "an order without an id" });
  await expect(send("no JSON")).rejects.toThrow("the message is not JSON");
});
