import { Redis } from "ioredis";
import { describe, it } from "vitest";
import { redisProgram, startRedis } from "../../support/servers/redis.js";
import { patience } from "../long-form.js";
import { expectExactlyOnce, type FillableBroker, runBrokerCampaign, runFullBroker } from "./broker-oracle.js";

describe.skipIf(redisProgram === undefined)("what was acknowledged on its way through redis", () => {
  it("arrives once, though the agent and the server are killed again and again", {
    timeout: patience(240_000),
  }, async () => {
    expectExactlyOnce("redis", await runBrokerCampaign(redis));
  });

  it("waits in the agent while the server is slow or has no memory left", { timeout: patience(240_000) }, async () => {
    expectExactlyOnce("redis without memory", await runFullBroker(redis));
  });
});

async function redis(): Promise<FillableBroker> {
  const { server, endpoint, port, close } = await startRedis();
  const allow = async (bytes: string) => {
    const client = new Redis({ port, host: "127.0.0.1" });
    await client.config("SET", "maxmemory", bytes);
    client.disconnect();
  };
  const room = { fill: () => allow("1mb"), makeRoom: () => allow("0"), says: /OOM command not allowed/ };
  const receiver = { endpoint, claim_after: "1s", connect_timeout: "1s" };
  return { server, type: "redis_stream", receiver, exporter: { endpoint, connect_timeout: "1s" }, ...room, close };
}
