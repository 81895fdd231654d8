import { describe, it } from "vitest";
import { redisProgram, startRedis } from "../../support/servers/redis.js";
import { patience } from "../long-form.js";
import { type BrokerUnderTest, expectExactlyOnce, runBrokerCampaign } from "./broker-oracle.js";

describe.skipIf(redisProgram === undefined)("what was acknowledged on its way through redis", () => {
  it("arrives once, though the agent and the server are killed again and again", {
    timeout: patience(240_000),
  }, async () => {
    expectExactlyOnce("redis", await runBrokerCampaign(redis));
  });
});

async function redis(): Promise<BrokerUnderTest> {
  const { server, endpoint, close } = await startRedis();
  const receiver = { endpoint, claim_after: "1s", connect_timeout: "1s" };
  return { server, type: "redis_stream", receiver, exporter: { endpoint, connect_timeout: "1s" }, close };
}
