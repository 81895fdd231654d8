import { expect, it } from "vitest";
import { directOutlet } from "../../../src/runtime/contract/direct-outlet.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { owed } from "../../support/deliveries.js";
import { FakeClock } from "../../support/fake-clock.js";
import { logs } from "../../support/telemetry/batches.js";

const settle = async () => {
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
};

it("goes on without an exporter's sends that do not even give up", async () => {
  const clock = new FakeClock();
  let hangs = true;
  const outlet = directOutlet({
    id: "out",
    exporter: { send: () => (hangs ? new Promise(() => {}) : Promise.resolve(undefined)) },
    settings: { timeout: 5000 },
    typeDefaults: {},
    clock,
    random: Math.random,
    logger: silentLogger,
    metrics: noMetrics,
  });
  const accept = () => {
    const { delivery, outcomes } = owed(logs("a"));
    outlet.accept(delivery, "logs");
    return outcomes;
  };
  const hung = Array.from({ length: 256 }, accept);
  await settle();
  clock.advance(5000);
  await settle();
  clock.advance(1000);
  await settle();
  expect(hung.flat()).toHaveLength(256);
  expect(hung[0]).toMatchObject([{ ok: false, refusal: { kind: "transient", code: "SLUICE_TIMEOUT" } }]);

  hangs = false;
  const next = accept();
  await settle();
  expect(next).toMatchObject([{ ok: true }]);
  await outlet.drain();
  expect(clock.pending).toBe(0);
});
