import { expect, it } from "vitest";
import { directOutlet } from "../../../../src/runtime/contract/calls/direct-outlet.js";
import type { Exporter } from "../../../../src/runtime/contract/exporter.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import type { Outlet } from "../../../../src/runtime/contract/operators/outlet.js";
import { owed } from "../../../support/deliveries.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { logs } from "../../../support/telemetry/batches.js";

const settle = async () => {
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
};

const outletOf = (exporter: Exporter, clock = new FakeClock()) =>
  directOutlet({
    id: "out",
    exporter,
    settings: { timeout: 5000 },
    typeDefaults: {},
    clock,
    random: Math.random,
    logger: silentLogger,
    metrics: noMetrics,
  });

const handIn = (outlet: Outlet) => {
  const { delivery, outcomes } = owed(logs("a"));
  outlet.accept(delivery, "logs");
  return outcomes;
};

it("continues without sends that ignore the abort", async () => {
  const clock = new FakeClock();
  let hangs = true;
  const outlet = outletOf({ send: () => (hangs ? new Promise(() => {}) : Promise.resolve(undefined)) }, clock);
  const hung = Array.from({ length: 256 }, () => handIn(outlet));
  await settle();
  clock.advance(5000);
  await settle();
  clock.advance(1000);
  await settle();
  expect(hung.flat()).toHaveLength(256);
  expect(hung[0]).toMatchObject([{ ok: false, refusal: { kind: "transient", code: "SLUICE_TIMEOUT" } }]);

  hangs = false;
  const next = handIn(outlet);
  await settle();
  expect(next).toMatchObject([{ ok: true }]);
  await outlet.drain();
  expect(clock.pending).toBe(0);
});

it("tells each send of its own timeout alone, though signals are used again", async () => {
  const clock = new FakeClock();
  const signals: AbortSignal[] = [];
  const finish: (() => void)[] = [];
  const outlet = outletOf(
    {
      send: (_, abort) => {
        signals.push(abort);
        return new Promise((resolve, reject) => {
          finish.push(() => resolve(undefined));
          abort.addEventListener("abort", () => reject(abort.reason), { once: true });
        });
      },
    },
    clock,
  );
  const first = handIn(outlet);
  clock.advance(3000);
  const second = handIn(outlet);
  clock.advance(2000);
  await settle();
  expect([first, second]).toMatchObject([[{ ok: false, refusal: { code: "SLUICE_TIMEOUT" } }], []]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  finish[1]!();
  await settle();
  expect(second).toMatchObject([{ ok: true }]);
  handIn(outlet);
  expect(signals[2]!.aborted).toBe(false);
  outlet.abort();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, true]);
  expect(clock.pending).toBe(0);
});

it("treats an exporter that throws or returns no promise like one that rejects or resolves", async () => {
  const answers = [
    () => {
      throw new Error("broken");
    },
    () => undefined as never,
  ];
  const outlet = outletOf({ send: () => answers.shift()!() });
  const outcomes = [handIn(outlet), handIn(outlet)];
  await settle();
  expect(outcomes).toMatchObject([[{ ok: false, refusal: { kind: "transient", message: "broken" } }], [{ ok: true }]]);
  await outlet.drain();
});
