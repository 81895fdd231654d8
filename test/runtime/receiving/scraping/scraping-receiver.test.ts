import { describe, expect, it, onTestFinished } from "vitest";
import type { ReceiverContext } from "../../../../src/plugin.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { PointCollector } from "../../../../src/runtime/receiving/scraping/point-collector.js";
import {
  type ScrapeMoment,
  type ScrapingConfig,
  ScrapingReceiver,
} from "../../../../src/runtime/receiving/scraping/scraping-receiver.js";
import { isTimedOut } from "../../../../src/runtime/resilience/waits.js";
import { TestIntake } from "../../../../src/testing.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { until } from "../../../support/until.js";

const HOUR_MS = 3_600_000;
const METRIC = { unit: "1", kind: "gauge", isInteger: true, description: "" } as const;

/** Measures something, and then asks a server that never answers. */
class HangingReceiver extends ScrapingReceiver<ScrapingConfig> {
  moments: ScrapeMoment[] = [];
  readonly calls: string[] = [];

  protected override async open(): Promise<void> {
    this.calls.push("open");
  }

  protected override async collect(moment: ScrapeMoment): Promise<PointCollector[]> {
    this.moments.push(moment);
    const points = new PointCollector(moment.now);
    points.add(METRIC, "measured", 1, {});
    await new Promise((resolve) => moment.abort.addEventListener("abort", resolve));
    moment.failed("server", new Error("aborted"));
    this.calls.push("collected");
    return [points];
  }

  protected override async close(): Promise<void> {
    this.calls.push("close");
  }
}

async function startHanging(timeout?: number) {
  const clock = new FakeClock();
  const intake = new TestIntake();
  const reasons: string[] = [];
  const moments: ScrapeMoment[] = [];
  const warn = ({ reason }: { reason: string }) => void reasons.push(reason);
  const context: ReceiverContext = {
    id: "measuring",
    kind: "receiver",
    logger: { ...silentLogger, warn } as unknown as ReceiverContext["logger"],
    metrics: noMetrics,
    clock,
    random: () => 0.5,
    intakes: { metrics: intake },
  };
  const config = { collection_interval: 10_000, initial_delay: 0, ...(timeout !== undefined && { timeout }) };
  const receiver = new HangingReceiver(config, context, { table: {}, transport: "http" });
  receiver.moments = moments;
  await receiver.start();
  onTestFinished(() => receiver.stop());
  clock.advance(0);
  await until(() => expect(moments).toHaveLength(1));
  return { receiver, clock, intake, reasons, moments };
}

describe("a collection", () => {
  it.each([
    [100, 100],
    [0, HOUR_MS],
    [undefined, HOUR_MS],
  ])(
    "with the timeout %s ends after %d ms, says so, keeps what was measured, and is followed by another",
    async (timeout, ms) => {
      const { clock, intake, reasons, moments } = await startHanging(timeout);
      clock.advance(ms - 1);
      await new Promise((resolve) => setImmediate(resolve));
      expect([intake.batches.length, reasons.length]).toEqual([0, 0]);
      clock.advance(1);
      await until(() => expect(intake.batches).toHaveLength(1));
      expect(reasons).toEqual([`not finished within ${ms} ms`]);
      expect(isTimedOut(moments[0]!.abort)).toBe(true);
      await until(() => {
        clock.advance(10_000);
        expect(moments).toHaveLength(2);
      });
    },
  );

  it("ends when the agent does, which is no failure and not late", async () => {
    const { receiver, clock, reasons, moments } = await startHanging(100);
    await receiver.stop();
    expect(moments[0]!.abort.aborted).toBe(true);
    expect(isTimedOut(moments[0]!.abort)).toBe(false);
    expect([reasons.length, clock.pending]).toEqual([0, 0]);
    expect(receiver.calls).toEqual(["open", "collected", "close"]);
  });
});
