import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { batchFromJson, type ProcessorContext } from "../../../../src/plugin.js";
import { adaptiveSampling } from "../../../../src/processors/sampling/adaptive/component.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { type Metrics, noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { feed, owed } from "../../../support/deliveries.js";
import { type RedisServer, redisProgram, startRedis } from "../../../support/servers/redis.js";
import { until } from "../../../support/until.js";

describe.skipIf(redisProgram === undefined)("an adaptive_sampling that agents share through redis", () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedis();
  });

  afterAll(() => server?.close());

  function agent(id: string) {
    const gauges = new Map<string, () => number>();
    const metrics: Metrics = {
      ...noMetrics,
      gauge(name, _description, read) {
        gauges.set(name, read);
        return () => {};
      },
    };
    const own = { id, kind: "processor", signal: "logs", pipeline: "logs" } as const;
    const context: ProcessorContext = {
      ...own,
      logger: silentLogger,
      metrics,
      clock: systemClock,
      random: Math.random,
    };
    const config = {
      shared: "redis",
      redis: { endpoint: server.endpoint },
      load: { tiers: [{ above: 100, rate: 0.5 }], window: "60s" },
      error_spike: { absolute: 50 },
    };
    const { source } = feed(adaptiveSampling.create(adaptiveSampling.schema.parse(config), context));
    const gauge = (name: string) => gauges.get(name)!();
    return {
      give: (count: number, severity = 9) => source.next(owed(records(count, severity)).delivery),
      isUp: () => gauge("sluice_shared_state_up") === 1,
      factor: () => gauge("sluice_adaptive_sampling_factor"),
      isSpike: () => gauge("sluice_adaptive_sampling_error_spike") === 1,
      stop: () => source.complete(),
    };
  }

  it("sees the load and the errors of the other agent, and continues by itself without the server", async () => {
    const [one, two] = [agent("adaptive_sampling"), agent("adaptive_sampling")];
    await until(() => expect([one.isUp(), two.isUp()]).toEqual([true, true]));
    // 4,000 in a minute are below the tier of 6,000, and twice as many are above it.
    one.give(4000);
    two.give(4000);
    expect([one.factor(), two.factor()]).toEqual([1, 1]);
    await until(() => {
      one.give(1);
      two.give(1);
      expect([one.factor(), two.factor()]).toEqual([0.5, 0.5]);
    });
    one.give(30, 17);
    two.give(30, 17);
    await until(() => {
      one.give(1);
      two.give(1);
      expect([one.isSpike(), two.isSpike()]).toEqual([true, true]);
    });
    await server.server.kill();
    await until(() => expect([one.isUp(), two.isUp()]).toEqual([false, false]));
    one.give(10);
    expect(one.isSpike()).toBe(true);
    await server.server.start();
    await until(() => expect([one.isUp(), two.isUp()]).toEqual([true, true]));
    for (const { stop } of [one, two]) stop();
  });
});

function records(count: number, severityNumber: number) {
  const logRecords = Array.from({ length: count }, () => ({ severityNumber }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}
