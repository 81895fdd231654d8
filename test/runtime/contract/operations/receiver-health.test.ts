import { expect, it } from "vitest";
import { ReceiverHealth } from "../../../../src/runtime/contract/operations/receiver-health.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { countedMetrics } from "../../queue/counted-metrics.js";

function newHealth() {
  const clock = new FakeClock();
  const metrics = countedMetrics();
  const health = new ReceiverHealth("rabbitmq", clock, metrics);
  const stop = health.start();
  return { clock, metrics, health, stop };
}

it("is UP while it only listens, and until a source says otherwise", () => {
  const { health, metrics, stop } = newHealth();
  expect(health.status()).toEqual({ id: "rabbitmq", state: "UP", reconnects: 0, down: [] });
  expect(metrics.value("sluice_receiver_up")).toBe(1);
  stop();
  expect(metrics.names.has("sluice_receiver_up")).toBe(false);
});

it("is DEGRADED while some sources are down and DOWN while all are, and counts when they are back", () => {
  const { health, metrics, clock } = newHealth();
  const [orders, bills] = [health.source("orders"), health.source("bills")];
  orders.up();
  bills.down("no such queue");
  expect(health.status()).toMatchObject({ state: "DEGRADED", down: ["bills"] });
  orders.down("ECONNREFUSED");
  expect(health.status()).toMatchObject({
    state: "DOWN",
    down: ["orders", "bills"],
    lastError: { at: clock.now(), source: "orders", message: "ECONNREFUSED" },
  });
  expect(metrics.value("sluice_receiver_up")).toBe(0);
  orders.up();
  orders.up();
  health.removeSource("bills");
  expect(health.status()).toMatchObject({ state: "UP", reconnects: 1, down: [] });
  expect(metrics.value("sluice_receiver_reconnects")).toBe(1);
});

it("is DEGRADED while a source has more than max_lag messages, and tells the sum of all", () => {
  const { health, metrics } = newHealth();
  expect(health.status().lag).toBeUndefined();
  const [orders, bills] = [health.source("orders", 100), health.source("bills")];
  orders.setLag(100);
  bills.setLag(1_000_000);
  expect(health.status()).toMatchObject({ state: "UP", lag: 1_000_100 });
  orders.setLag(101);
  expect(health.status()).toMatchObject({ state: "DEGRADED", lag: 1_000_101 });
  expect(metrics.value("sluice_receiver_lag")).toBe(1_000_101);
});

it("remembers when data came last", async () => {
  const { health, metrics, clock } = newHealth();
  expect(metrics.names.has("sluice_receiver_last_message_age")).toBe(false);
  health.noteMessage();
  const at = clock.now();
  await clock.advance(5000);
  expect(health.status().lastMessageAt).toBe(at);
  expect(metrics.value("sluice_receiver_last_message_age")).toBe(5);
});

it("tells what is known about a source, until nothing is", () => {
  const { health } = newHealth();
  const orders = health.source("orders");
  orders.describe({ max_receive_count: 5 });
  expect(health.status().facts).toEqual({ orders: { max_receive_count: 5 } });
  orders.describe({});
  expect(health.status().facts).toBeUndefined();
});
