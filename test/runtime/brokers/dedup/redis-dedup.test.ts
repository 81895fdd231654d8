import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Batch, type Outcome, Refusal } from "../../../../src/plugin.js";
import { Dedup } from "../../../../src/runtime/brokers/dedup/dedup.js";
import { SharedKeys } from "../../../../src/runtime/brokers/shared/shared-keys.js";
import { SharedRedis, sharedRedisOf, sharedStateKeys } from "../../../../src/runtime/brokers/shared/shared-redis.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { type RedisServer, redisProgram, startRedis } from "../../../support/servers/redis.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { until } from "../../../support/until.js";

const OK: Outcome = { ok: true, rejected: 0, message: "" };
const NO: Outcome = { ok: false, refusal: new Refusal("transient", "no") };

describe.skipIf(redisProgram === undefined)("deduplication that agents share through redis", () => {
  let server: RedisServer;
  const started: Dedup[] = [];

  beforeAll(async () => {
    server = await startRedis();
  });

  afterAll(async () => {
    for (const one of started) await one.stop();
    await server?.close();
  });

  /** The memory of an agent, and what that agent takes. */
  async function agent() {
    const redis = sharedStateKeys.redis.parse({ endpoint: server.endpoint });
    const context = { id: "otlp", kind: "receiver", logger: silentLogger, metrics: noMetrics } as const;
    const config = sharedRedisOf({ shared: "redis", redis })!;
    const shared = new SharedRedis(config, { ...context, clock: systemClock, random: Math.random }, {});
    const keys = new SharedKeys(shared, "dedup:otlp", 60_000, systemClock);
    const duplicates = { count: 0, add: (n: number) => void (duplicates.count += n) };
    const dedup = new Dedup({ max_entries: 100, ttl: 60_000 }, systemClock, duplicates, undefined, keys);
    const taken: string[] = [];
    let answer: () => Outcome | Promise<Outcome> = () => OK;
    const take = async (batch: Batch) => {
      taken.push(...bodies(batch));
      return answer();
    };
    await dedup.start();
    started.push(dedup);
    await until(() => expect(shared.isUp).toBe(true));
    return {
      accept: (key: string, batch: Batch) => dedup.accept(key, batch, take),
      taken,
      duplicates,
      isUp: () => shared.isUp,
      answerWith: (how: () => Outcome | Promise<Outcome>) => {
        answer = how;
      },
    };
  }

  it("does not take messages that another agent has taken, in any grouping", async () => {
    const [one, two] = [await agent(), await agent()];
    expect(await one.accept("q-1", logs("a"))).toEqual(OK);
    expect(await two.accept("q-1", logs("a"))).toEqual(OK);
    expect(await two.accept("entries;q-1+1:1", logs("a", "b"))).toEqual(OK);
    expect(await one.accept("q-2", logs("b"))).toEqual(OK);
    expect([one.taken, two.taken]).toEqual([["a"], ["b"]]);
    expect(one.duplicates.count + two.duplicates.count).toBe(3);
  });

  it("waits while another agent takes it, and takes it itself when that one is refused", async () => {
    const [one, two] = [await agent(), await agent()];
    let settle: (outcome: Outcome) => void = () => {};
    one.answerWith(() => new Promise((resolve) => (settle = resolve)));
    for (const [key, outcome, expected] of [
      ["w-1", OK, []],
      ["w-2", NO, ["r"]],
    ] as const) {
      const first = one.accept(key, logs("r"));
      await until(() => expect(one.taken).toHaveLength(key === "w-1" ? 1 : 2));
      const second = two.accept(key, logs("r"));
      settle(outcome);
      expect(await first).toEqual(outcome);
      expect(await second).toEqual(OK);
      expect(two.taken).toEqual(expected);
    }
  });

  it("takes each once when many agents are sent the same at once", async () => {
    const agents = await Promise.all([agent(), agent(), agent()]);
    const sent = Array.from({ length: 20 }, (_, i) => agents.map(({ accept }) => accept(`m-${i}`, logs(`m${i}`))));
    await Promise.all(sent.flat());
    const all = agents.flatMap(({ taken }) => taken);
    expect(all.sort()).toEqual(Array.from({ length: 20 }, (_, i) => `m${i}`).sort());
  });

  it("goes by its own memory without the server, and by all when it is back", async () => {
    const [one, two] = [await agent(), await agent()];
    await one.accept("g-1", logs("a"));
    await server.server.kill();
    expect(await one.accept("g-1", logs("a"))).toEqual(OK);
    expect(await two.accept("g-1", logs("a"))).toEqual(OK);
    expect(await two.accept("g-1", logs("a"))).toEqual(OK);
    expect([one.taken, two.taken, two.isUp()]).toEqual([["a"], ["a"], false]);
    await server.server.start();
    await until(() => expect([one.isUp(), two.isUp()]).toEqual([true, true]));
    await two.accept("g-2", logs("b"));
    await one.accept("g-2", logs("b"));
    expect(one.taken).toEqual(["a"]);
  });
});
