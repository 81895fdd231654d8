import { expect, it } from "vitest";
import { defineHandler, Refusal } from "../../../../src/plugin.js";
import { rejectedHeaders } from "../../../../src/runtime/brokers/messages/dead-letter-headers.js";
import { runPipeline } from "../../../../src/testing.js";
import { until } from "../../../support/until.js";
import { ModelBroker } from "./broker-model.js";

const YAML = `
receivers: { model: {} }
exporters: { book: { sending_queue: { enabled: false } } }
service: { pipelines: { logs: { receivers: [model], exporters: [book] } } }`;

/** The headers of a message that a handler without a queue has failed with this error. */
async function headersAfter(error: Error) {
  const broker = new ModelBroker(() => false, false);
  broker.maxTries = 1;
  const handler = defineHandler({ type: "book", handle: () => Promise.reject(error) });
  const pipeline = await runPipeline(YAML, { plugins: [broker.receiver(), handler] });
  broker.publish({ serial: "1", body: "a", key: undefined });
  await until(() => expect(broker.refused).toHaveLength(1));
  await pipeline.stop();
  return rejectedHeaders(broker.refused[0]!.refusal, "orders", 0);
}

it.each([
  [new Refusal("permanent", "never"), "SLUICE_PERMANENT", "permanent"],
  [new Refusal("permanent", "no such order", { status: "HTTP 404" }), "HTTP 404", "permanent"],
  [new TypeError("oops"), "TypeError", "retry_exhausted"],
  [new Refusal("transient", "later", { code: "NOT_YET" }), "NOT_YET", "retry_exhausted"],
])("a message that is set aside after %s says what failed, why and where", async (error, errorClass, reason) => {
  expect(await headersAfter(error)).toMatchObject({
    "x-sluice-error-class": errorClass,
    "x-sluice-error": error.message,
    "x-sluice-reason": reason,
    "x-sluice-exporter": "book",
    "x-sluice-source": "orders",
    "x-sluice-attempts": "1",
  });
});
