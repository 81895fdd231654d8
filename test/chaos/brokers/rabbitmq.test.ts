import { describe, it } from "vitest";
import { rabbitmqProgram, startRabbitMq } from "../../support/servers/rabbitmq.js";
import { RabbitSession } from "../../support/servers/rabbitmq-session.js";
import { patience } from "../long-form.js";
import { expectExactlyOnce, type FillableBroker, runBrokerCampaign, runFullBroker } from "./broker-oracle.js";

describe.skipIf(rabbitmqProgram === undefined)("what was acknowledged on its way through rabbitmq", () => {
  it.each(["quorum", "classic"] as const)(
    "arrives once through a %s queue, though the agent and the server are killed again and again",
    { timeout: patience(240_000) },
    async (type) => {
      expectExactlyOnce(`rabbitmq ${type}`, await runBrokerCampaign(() => rabbitmq(type)));
    },
  );

  it("waits in the agent while the server is slow or low on disk", { timeout: patience(240_000) }, async () => {
    expectExactlyOnce("rabbitmq low on disk", await runFullBroker(() => rabbitmq("quorum")));
  });
});

async function rabbitmq(type: "quorum" | "classic"): Promise<FillableBroker> {
  const { server, url, control, close } = await startRabbitMq();
  const session = await RabbitSession.open(url);
  await session.channel.assertQueue("numbers", { durable: true, arguments: { "x-queue-type": type } });
  await session.close();
  // RabbitMQ 3.10 writes down where its quorum queues are when it stops, or after minutes: killed before that it has none.
  await server.kill("SIGTERM");
  await server.start();
  const connection = { endpoint: url, heartbeat: "2s", connection_timeout: "1s" };
  const receiver = { connection, queue: "numbers" };
  const exporter = { connection, routing: { routing_key: "numbers" } };
  const room = {
    fill: () => control("set_disk_free_limit", "900000GB"),
    makeRoom: () => control("set_disk_free_limit", "1MB"),
    says: /low on disk/,
  };
  return { server, type: "rabbitmq", receiver, exporter, ...room, close };
}
