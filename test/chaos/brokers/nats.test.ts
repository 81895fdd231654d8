import { describe, it } from "vitest";
import { natsProgram, startNats } from "../../support/servers/nats.js";
import { patience } from "../long-form.js";
import { type BrokerUnderTest, expectExactlyOnce, runBrokerCampaign } from "./broker-oracle.js";

describe.skipIf(natsProgram === undefined)("what was acknowledged on its way through nats", () => {
  it("arrives once, though the agent and the server are killed again and again", {
    timeout: patience(240_000),
  }, async () => {
    expectExactlyOnce("nats", await runBrokerCampaign(nats));
  });
});

async function nats(): Promise<BrokerUnderTest> {
  const { server, url, close } = await startNats();
  const keys = { servers: [url], stream: "NUMBERS", create_stream: true, connect_timeout: "1s" };
  return { server, type: "nats", receiver: { ...keys, ack_wait: "1s" }, exporter: keys, close };
}
