import { afterEach, expect, it } from "vitest";
import { defineHandler, Refusal } from "../../../src/plugin.js";
import type { Entry } from "../../../src/runtime/contract/operations/entry.js";
import { MessageMetrics } from "../../../src/runtime/queue/entry/message-metrics.js";
import { cleanUp, startFed } from "../../support/fed-agent.js";
import { logs } from "../../support/telemetry/batches.js";
import { until } from "../../support/until.js";
import { countedMetrics } from "./counted-metrics.js";

afterEach(cleanUp);

it("counts messages by handler, source and event, and telemetry not at all", async () => {
  const attempts = new Map<string, number>();
  const factory = defineHandler({
    type: "ship",
    async handle(message) {
      const text = message.text();
      const attempt = (attempts.get(text) ?? 0) + 1;
      attempts.set(text, attempt);
      if (text === "never") throw new Refusal("permanent", "never");
      if (text === "later" && attempt < 3) throw new Error("not yet");
    },
  });
  const { hand, metrics } = await startFed(
    (directory) => `
extensions: { reliability: { directory: ${directory} } }
exporters: { ship: { retry_on_failure: { initial_interval: 1ms } } }
service: { extensions: [reliability], pipelines: { logs: { receivers: [hand], exporters: [ship] } } }`,
    { components: [factory] },
  );
  const paid = { queue: "orders", event: "order.paid" };
  for (const text of ["fine", "later", "never"]) await hand(logs(text), paid);
  await hand(logs("other"), { queue: "bills" });
  await hand(logs("telemetry"));
  const labels = { exporter: "ship", source: "orders", event: "order.paid" };
  await until(() => expect(metrics.value("sluice_messages_delivered", labels)).toBe(2));
  await until(() => expect(metrics.value("sluice_message_dead_letters", labels)).toBe(1));
  expect(metrics.value("sluice_message_retries", labels)).toBe(2);
  await until(() => expect(metrics.value("sluice_messages_delivered", { source: "bills", event: "" })).toBe(1));
  await until(() => expect(attempts.has("telemetry")).toBe(true));
  expect(metrics.value("sluice_messages_delivered")).toBe(3);
  expect(metrics.value("sluice_dead_letters", { exporter: "ship" })).toBe(1);
});

it("counts the messages of further events together", () => {
  const metrics = countedMetrics();
  const messages = new MessageMetrics("ship", metrics);
  for (let i = 0; i < 250; i++)
    messages.deadLettered({ source: { receiver: "r", transport: "t", queue: "orders", event: `event ${i}` } } as Entry);
  expect(metrics.value("sluice_message_dead_letters")).toBe(250);
  expect(metrics.value("sluice_message_dead_letters", { event: "(other)", source: "(other)" })).toBe(150);
});
