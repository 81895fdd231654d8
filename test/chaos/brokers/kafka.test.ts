import { describe, it } from "vitest";
import { hasKafka, startKafka } from "../../support/servers/kafka.js";
import { patience } from "../long-form.js";
import { type BrokerUnderTest, expectExactlyOnce, runBrokerCampaign } from "./broker-oracle.js";

describe.skipIf(!hasKafka)("what was acknowledged on its way through kafka", () => {
  it("arrives once, though the agent and the broker are killed again and again", {
    timeout: patience(240_000),
  }, async () => {
    expectExactlyOnce("kafka", await runBrokerCampaign(kafka));
  });
});

async function kafka(): Promise<BrokerUnderTest> {
  const broker = await startKafka();
  const topic = await broker.createTopic("numbers", 3);
  const keys = { brokers: [broker.broker], logs: { topic }, request_timeout: "2s" };
  const receiver = {
    ...keys,
    initial_offset: "earliest",
    session_timeout: "1s",
    rebalance_timeout: "2s",
    heartbeat_interval: "200ms",
    autocommit: { interval: "100ms" },
  };
  const { server, close } = broker;
  return { server, type: "kafka", receiver, exporter: keys, close };
}
