import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { batchFromJson, type ProcessorContext } from "../../../src/plugin.js";
import { rateLimit } from "../../../src/processors/rate-limit/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { type Logger, type Metrics, noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { feed, owed } from "../../support/deliveries.js";
import { type RedisServer, redisProgram, startRedis } from "../../support/servers/redis.js";
import { until } from "../../support/until.js";

interface Passed {
  readonly at: number;
  readonly count: number;
}

const LIMIT = 1000;

describe.skipIf(redisProgram === undefined)("a rate_limit that agents share through redis", () => {
  let server: RedisServer;
  let names = 0;

  beforeAll(async () => {
    server = await startRedis();
  });

  afterAll(() => server?.close());

  /** A processor as a separate agent would have it. */
  function agent(id: string, more: object = {}) {
    const passed: Passed[] = [];
    const said: string[] = [];
    let up = () => 0;
    const metrics: Metrics = {
      ...noMetrics,
      gauge(name, _description, read) {
        if (name === "sluice_shared_state_up") up = read;
        return () => {};
      },
    };
    const say = (_fields: object, message: string) => void said.push(message);
    const logger = { ...silentLogger, warn: say, info: say } as Logger;
    const own = { id, kind: "processor", signal: "logs", pipeline: "logs" } as const;
    const context: ProcessorContext = { ...own, logger, metrics, clock: systemClock, random: Math.random };
    const config = { limit: LIMIT, key: [], shared: "redis", redis: { endpoint: server.endpoint }, ...more };
    const { source, out } = feed(rateLimit.create(rateLimit.schema.parse(config), context));
    const push = out.push.bind(out);
    out.push = (...deliveries) => {
      const at = performance.now();
      for (const { batch, setback } of deliveries) if (setback === undefined) passed.push({ at, count: batch.count });
      return push(...deliveries);
    };
    const give = (count: number) => source.next(owed(records(count)).delivery);
    return { give, passed, said, isUp: () => up() === 1, stop: () => source.complete() };
  }

  it("admits no more than the limit in any second, among two agents", async () => {
    const id = `rate_limit/${names++}`;
    // A machine that pauses for a moment must not look like a server that is down.
    const patient = { redis: { endpoint: server.endpoint, timeout: "30s" } };
    const agents = [agent(id, patient), agent(id, patient)];
    await until(() => expect(agents.every(({ isUp }) => isUp())).toBe(true));
    const begin = performance.now();
    for (let turn = 0; performance.now() - begin < 3000; turn++) {
      agents[turn % 2]!.give(turn % 50 === 0 ? 200 : 10);
      if (turn % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(agents.flatMap(({ said }) => said).join()).not.toContain("works alone");
    for (const { stop } of agents) stop();
    const all = agents.flatMap(({ passed }) => passed).sort((a, b) => a.at - b.at);
    expect(mostInASecond(all)).toBeLessThanOrEqual(LIMIT * 1.05);
    // If the machine pauses for longer than the life of a permit, the permit expires.
    expect(sum(all)).toBeGreaterThan(LIMIT / 2);
    expect(Math.min(...agents.map(({ passed }) => sum(passed)))).toBeGreaterThan(0);
  });

  it("admits no more than the limit among agents that have just started", async () => {
    const id = `rate_limit/${names++}`;
    const settings = { limit: 100, window: "60s", redis: { endpoint: server.endpoint, timeout: "30s" } };
    const agents = [agent(id, settings), agent(id, settings)];
    for (const { give } of agents) for (let i = 0; i < 13; i++) give(5);
    await until(() => expect(agents.every(({ isUp }) => isUp())).toBe(true));
    const total = () => agents.reduce((all, { passed }) => all + sum(passed), 0);
    // Unused permits of an agent come back after a twentieth of the window. The test does not wait for these.
    await until(() => expect(total()).toBeGreaterThanOrEqual(65));
    for (let i = 0; i < 20; i++) {
      for (const { give } of agents) give(5);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(total()).toBeLessThanOrEqual(100);
    for (const { stop } of agents) stop();
  });

  it("limits by itself without the server, logs that, and shares again when the server is back", async () => {
    const id = `rate_limit/${names++}`;
    const [one, two] = [agent(id, { window: "10s" }), agent(id, { window: "10s" })];
    await until(() => expect([one.isUp(), two.isUp()]).toEqual([true, true]));
    one.give(600);
    await until(() => expect(sum(one.passed)).toBe(600));
    // The first agent returns the permits that it prefetched and did not use.
    await until(() => {
      two.give(600);
      expect(sum(two.passed)).toBe(400);
    });
    await server.server.kill();
    // Records that passed before still count.
    await until(() => {
      two.give(100);
      expect(two.isUp()).toBe(false);
    });
    two.give(1000);
    await until(() => expect(sum(two.passed)).toBe(LIMIT));
    expect(two.said.filter((line) => line.includes("works alone"))).toHaveLength(1);
    await server.server.start();
    await until(() => expect([one.isUp(), two.isUp()]).toEqual([true, true]));
    expect(two.said.filter((line) => line.includes("shared with other agents"))).toHaveLength(2);
    for (const { stop } of [one, two]) stop();
  });

  it("does not wait while the server is silent", async () => {
    const one = agent(`rate_limit/${names++}`, { redis: { endpoint: server.endpoint, timeout: "50ms" } });
    await until(() => expect(one.isUp()).toBe(true));
    server.server.pause();
    one.give(10);
    await until(() => expect(sum(one.passed)).toBe(10));
    expect(one.isUp()).toBe(false);
    one.give(10);
    expect(sum(one.passed)).toBe(20);
    server.server.resume();
    await until(() => expect(one.isUp()).toBe(true));
    one.stop();
  });
});

function records(count: number) {
  const logRecords = Array.from({ length: count }, () => ({ eventName: "e" }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

function sum(all: readonly Passed[]): number {
  return all.reduce((total, { count }) => total + count, 0);
}

function mostInASecond(all: readonly Passed[]): number {
  let most = 0;
  for (let first = 0, end = 0, within = 0; first < all.length; first++) {
    while (end < all.length && all[end]!.at < all[first]!.at + 1000) within += all[end++]!.count;
    most = Math.max(most, within);
    within -= all[first]!.count;
  }
  return most;
}
